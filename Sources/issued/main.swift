import IssueDaemon
import UnixIO

CurrentProcess.exit(Daemon.main(Array(CommandLine.arguments.dropFirst())))
