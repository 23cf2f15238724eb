"""Windows of numbers of events (count windows), and of calendar days.

Engines support windows of constant length over integers. `counting` and `calendar` map events to
integer *positions*, `operator` passes these to the operators of any kind in place of times, and
`kind` wraps the kind for drivers.
"""
