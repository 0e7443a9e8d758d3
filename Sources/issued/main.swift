import IssueDaemon

Daemon.runProcess(Array(CommandLine.arguments.dropFirst()))
