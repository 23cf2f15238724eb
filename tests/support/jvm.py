"""Options of the tests' JVMs: those that use an archive of classes, and the one that writes it."""

OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable"
