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
            files: .process,
            reporting: .process(),
            connect: { (path) throws(CollectorConnectionError) in try IssueBrowser(socket: path).link() })
        let code = control.run(arguments)
        CurrentProcess.exit(code == .success && output.hasFailed ? ExitCode.refused.rawValue : code.rawValue)
    }
}

extension ReportSurroundings {
    /// How long what earlier runs have kept may hold up the end of this one.
    private static let sendingTime: Duration = .seconds(5)

    fileprivate static func process() -> ReportSurroundings {
        let folder = SpillFolder.usual(application: SpillFolder.commandName)
        let start = MonotonicClock.now
        return ReportSurroundings(
            now: { Timestamp(milliseconds: WallClock.nowMilliseconds) },
            elapsed: { start.duration(to: MonotonicClock.now) },
            sleep: { time in
                let nothing = Monitor(())
                _ = nothing.wait(deadline: MonotonicClock.now.advanced(by: time)) { _ -> Bool? in nil }
            },
            makeProducer: ProducerName.random, caller: CallerName.ofThisProcess(),
            keep: { call, producer, sequence in
                // A failure is reported at once, so no later run has to report it (`issues: 0`).
                guard let folder, folder.keep(call, of: producer, from: sequence, issues: 0) else { return nil }
                return folder.path
            },
            sendKept: { socket in
                guard let folder, !folder.isEmpty else { return }
                let deadline = MonotonicClock.now.advanced(by: sendingTime)
                SpillPickup(
                    folder: folder, sockets: socket.map { [$0] } ?? SocketPath.search(), trust: .socket(socket),
                    patience: sendingTime, isStopped: { MonotonicClock.now >= deadline }, pause: { _ in false }
                ).run()
            })
    }
}
