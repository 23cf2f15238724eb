"""States of the templates: what comes into them, and what events add."""
