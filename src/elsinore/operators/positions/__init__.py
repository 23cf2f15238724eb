"""Windows whose lengths are no lengths of time: numbers of events, and calendar days.

Engines know windows of one length on a line of integers. `counting` and `calendar` give events
positions on such a line, `operator` gives these to the operators of any kind in place of times, and
`kind` is what drivers see.
"""
