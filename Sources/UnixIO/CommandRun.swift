import CLinux
import Glibc

/// A run of another program that is limited in time and in output.
package struct CommandRun: Equatable, Sendable {
    package enum End: Equatable, Sendable {
        case exit(Int32)
        case signal(Int32)
        /// It was killed at the timeout.
        case timeout
        /// It was killed because it had written too much.
        case tooMuchOutput
        /// It was killed because the caller wanted it.
        case cancelled
    }

    package var end: End
    /// The last bytes that it wrote to its standard output and error.
    package var output: [UInt8]

    /// The number of bytes of output that are kept.
    package static let keptOutput = 4096
    /// The number of bytes of output after which the program is killed.
    package static let maxOutput = 1 << 20

    private static let tick: Duration = .milliseconds(20)
    /// How long to wait for the end of a killed program. It may be later if the kernel waits for a disk or network.
    private static let reapTime: Duration = .seconds(1)

    /// Runs a program and waits for its end. Then its whole process group is killed, so that nothing is left.
    ///
    /// The program gets only its standard streams. SIGPIPE must be ignored in this process.
    ///
    /// - Parameters:
    ///   - arguments: The absolute path of the program, and its arguments.
    ///   - environment: Its environment, such as `PATH=/bin`.
    ///   - input: Its standard input. It need not read it.
    ///   - isCancelled: Called repeatedly, at least every 20 ms.
    /// - Throws: The error of posix_spawn(3), such as `noSuchFile`, or of pipe(2).
    package init(
        _ arguments: [String], environment: [String], input: [UInt8], timeout: Duration, isCancelled: () -> Bool
    ) throws(Errno) {
        let deadline = MonotonicClock.now.advanced(by: timeout)
        let running = try RunningCommand(arguments, environment: environment)
        defer { running.finish(within: Self.reapTime) }
        var written = 0
        var events: [PollEvent] = []
        while true {
            try running.poller.wait(into: &events, timeout: Self.tick)
            running.write(input, &written)
            running.read(atMost: Self.maxOutput)
            if let found = running.ended {
                // The pipe still has the last output.
                running.read(atMost: Self.maxOutput)
                end = found
                break
            }
            if running.outputCount >= Self.maxOutput {
                end = .tooMuchOutput
                break
            }
            if isCancelled() {
                end = .cancelled
                break
            }
            if MonotonicClock.now >= deadline {
                end = .timeout
                break
            }
        }
        output = running.output
    }
}

/// A program that was started, and the pipes to it.
private final class RunningCommand {
    private final class End {
        let descriptor: FileDescriptor

        init(_ descriptor: consuming FileDescriptor) {
            self.descriptor = descriptor
        }
    }

    let poller: Poller
    private let pid: Int32
    private var input: End?
    private var outputEnd: End?
    private(set) var output: [UInt8] = []
    private(set) var outputCount = 0

    init(_ arguments: [String], environment: [String]) throws(Errno) {
        let toChild = try DescriptorPair.pipe()
        let fromChild = try DescriptorPair.pipe()
        poller = try Poller(capacity: 2)
        var words = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var variables = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        var pid: Int32 = 0
        try calling {
            unsafe clinux_spawn(&words, &variables, toChild.first.rawValue, fromChild.second.rawValue, &pid)
        }
        self.pid = pid
        let (input, output) = (End(toChild.second), End(fromChild.first))
        (self.input, outputEnd) = (input, output)
        try? input.descriptor.setNonBlocking()
        try? output.descriptor.setNonBlocking()
        try? poller.add(input.descriptor, token: 0, for: .write)
        try? poller.add(output.descriptor, token: 1, for: .read)
    }

    /// Writes as much of the input as the pipe takes, and closes the pipe after the last byte.
    func write(_ bytes: [UInt8], _ written: inout Int) {
        while let end = input {
            if written == bytes.count {
                input = nil
                return
            }
            do throws(Errno) {
                written += try end.descriptor.write(bytes, in: written..<bytes.count)
            } catch .wouldBlock {
                return
            } catch {
                // The program does not read any further.
                input = nil
            }
        }
    }

    /// Reads what the program has written, and keeps the end of it.
    func read(atMost limit: Int) {
        while let end = outputEnd, outputCount < limit {
            do throws(Errno) {
                let count = try end.descriptor.read(appendingTo: &output, atMost: 16_384)
                if count == 0 { outputEnd = nil }
                outputCount += count
                output.removeFirst(max(output.count - CommandRun.keptOutput, 0))
            } catch .wouldBlock {
                return
            } catch {
                outputEnd = nil
            }
        }
    }

    /// How the program has ended; nil while it runs.
    var ended: CommandRun.End? {
        var isSignal: CInt = 0
        var status: CInt = 0
        switch unsafe clinux_has_ended(pid, &isSignal, &status) {
        case 0: return nil
        case 1: return isSignal != 0 ? .signal(status) : .exit(status)
        case _: return .signal(0)
        }
    }

    /// Kills the process group and reaps the program.
    func finish(within time: Duration) {
        // The program is not reaped yet, so its id can't belong to another group.
        _ = kill(-pid, SIGKILL)
        let deadline = MonotonicClock.now.advanced(by: time)
        while clinux_reap(pid) == 0, MonotonicClock.now < deadline { _ = usleep(2000) }
    }
}
