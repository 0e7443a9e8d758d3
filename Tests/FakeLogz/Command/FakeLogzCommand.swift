import UnixIO

/// The listener ``FakeLogz`` as a program, for scripts and for tests of other processes.
package struct FakeLogzCommand: Sendable {
    /// The exit codes of the program.
    package enum ExitCode: Int32, Sendable {
        case success = 0
        case unavailable = 69
        case usage = 64
        /// The maximum running time has passed, so the program was probably forgotten.
        case overdue = 75
    }

    private static let lifetime = Duration.seconds(600)

    private let arguments: [String]

    /// The arguments without the program's name.
    package init(arguments: [String]) {
        self.arguments = arguments
    }

    /// Runs the program, then ends the process with the exit code.
    package func main() -> Never {
        CurrentProcess.exit(run())
    }

    /// Runs until a signal, `POST /quit`, the end of the input or the time limit. Returns the exit code.
    package func run() -> Int32 {
        let parsed: FakeLogzArguments
        do throws(FakeLogzUsageError) {
            parsed = try FakeLogzArguments(arguments)
        } catch {
            say("fake-logz: \(error) (see --help)\n", on: .error)
            return ExitCode.usage.rawValue
        }
        guard !parsed.wantsHelp else {
            say(FakeLogzArguments.help, on: .output)
            return ExitCode.success.rawValue
        }
        do throws(Errno) {
            return try serve(parsed).rawValue
        } catch {
            say("fake-logz: \(error)\n", on: .error)
            return ExitCode.unavailable.rawValue
        }
    }

    private func serve(_ parsed: FakeLogzArguments) throws(Errno) -> ExitCode {
        // Must precede the first thread: in a thread that does not block the signals, they would end the process.
        let signals = try SignalReceiver([.terminate, .interrupt])
        let listener = try FakeLogz(parsed.options)
        defer { listener.stop() }
        let poller = try Poller(capacity: 4)
        try poller.add(signals.descriptor, token: 0, for: .read)
        try poller.add(listener.control.core.quit.descriptor, token: 1, for: .read)
        let input: FileDescriptor? = parsed.keepsRunning ? nil : try? StandardStream.input.duplicate()
        // Input that cannot be polled, such as a file or /dev/null, is treated as ended.
        let isWatched = try input?.addEnd(to: poller) ?? false
        say("{\"http\":\(listener.port),\"control\":\(listener.controlPort)}\n", on: .output)
        guard isWatched || parsed.keepsRunning else { return .success }

        let deadline = parsed.keepsRunning ? nil : MonotonicClock.now.advanced(by: Self.lifetime)
        var events: [PollEvent] = []
        var ignored: [UInt8] = []
        while true {
            try poller.wait(into: &events, timeout: deadline.map { MonotonicClock.now.duration(to: $0) })
            if events.contains(where: { $0.token <= 1 }) { return .success }
            if let deadline, deadline <= MonotonicClock.now {
                say("fake-logz: stopped after 10 minutes\n", on: .error)
                return .overdue
            }
            if events.contains(where: { $0.token == 2 }), try input?.hasEnded(&ignored) == true { return .success }
        }
    }

    private func say(_ text: String, on stream: StandardStream) {
        try? stream.writeAll(text)
    }
}

extension FileDescriptor {
    /// Returns `true` if the descriptor can be polled, and adds it to the poller.
    fileprivate borrowing func addEnd(to poller: borrowing Poller) throws(Errno) -> Bool {
        do throws(Errno) {
            try poller.add(self, token: 2, for: .read)
            return true
        } catch .notPermitted {
            return false
        }
    }

    /// Discards the available input, and returns `true` at its end.
    fileprivate borrowing func hasEnded(_ ignored: inout [UInt8]) throws(Errno) -> Bool {
        ignored.removeAll(keepingCapacity: true)
        switch attemptRead(appendingTo: &ignored, atMost: 4096) {
        case .bytes: return false
        case .wouldBlock: return false
        case .end: return true
        case .failed: return true
        }
    }
}
