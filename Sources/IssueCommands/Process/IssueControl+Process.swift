import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

extension IssueControl {
    /// Runs as the program, on the real terminal and the real socket, and ends the process.
    package static func runProcess(_ arguments: [String]) -> Never {
        // A reader who leaves early, as `head` does, shows as an error of write(2) and not as a death by signal:
        // `report` still has issues to send then.
        try? Signal.pipe.ignore()
        StandardStream.fillClosed()
        let output = StandardOutput()
        let terminal = StandardStream.output
        let control = IssueControl(
            environment: { Environment[$0] },
            now: Timestamp(milliseconds: WallClock.nowMilliseconds),
            terminal: TerminalFacts(isTerminal: terminal.isTerminal, columns: terminal.columns, rows: terminal.rows),
            input: StandardInput(), output: output,
            moveFile: FileMove(
                check: { (destination) throws(CommandFailure) in try FileMoving.check(destination) },
                move: { (source, destination) throws(CommandFailure) in
                    try FileMoving.move(source, to: destination)
                }),
            connect: { (path) throws(CollectorConnectionError) in try IssueBrowser(socket: path).link() })
        let code = control.run(arguments)
        CurrentProcess.exit(code == .success && output.hasFailed ? ExitCode.refused.rawValue : code.rawValue)
    }
}
