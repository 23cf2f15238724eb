"""Sharing bursts among the holders of a Kleene sub-pattern, by composing what events do."""
