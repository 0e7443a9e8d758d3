import CLinux
import Glibc
import Synchronization

/// The result of running another program with limits on its time and output.
package struct CommandRun: Equatable, Sendable {
    /// How the program ended.
    package enum End: Equatable, Sendable {
        /// The program exited with this status.
        case exit(Int32)
        /// A signal with this number ended the program; 0 if its status could not be read.
        case signal(Int32)
        /// The program was killed at the timeout.
        case timeout
        /// The program was killed because it had written too much.
        case tooMuchOutput
        /// The program was killed because `isCancelled` returned `true`.
        case cancelled
    }

    package var end: End
    /// The last bytes that the program wrote to its standard output and error.
    package var output: [UInt8]
    /// Whether the program wrote more than `output`.
    package var isCut: Bool

    /// The number of bytes of output that are kept by default.
    package static let keptOutput = 4096
    /// The number of bytes of output after which the program is killed by default.
    package static let maxOutput = 1 << 20

    /// The approximate number of bytes that are read before the time is checked again.
    private static let maxRead = 1 << 20
    /// The maximum time to wait for the pipes before the timeout and `isCancelled` are checked again.
    private static let tick: Duration = .milliseconds(20)
    /// How long to wait for a killed program to end. The program may take longer if one of its system calls waits for a
    /// disk or the network.
    private static let reapTime: Duration = .seconds(1)

    /// Runs a program, waits until it ends, exceeds a limit or is cancelled, and then kills its whole process group.
    /// Blocks the calling thread.
    ///
    /// A process that leaves the group, for example with setsid(2), is not killed. The program inherits no descriptors
    /// other than its standard streams. SIGPIPE must be ignored in this process if there is input.
    ///
    /// - Parameters:
    ///   - arguments: The absolute path of the program, and its arguments.
    ///   - environment: The program's environment variables, such as `PATH=/bin`.
    ///   - input: The bytes of its standard input. The program need not read them.
    ///   - kept: The number of bytes at the end of the output that are kept.
    ///   - limit: The number of bytes of output after which the program is killed; nil for no limit.
    ///   - timeout: The maximum duration, after which the program is killed.
    ///   - isCancelled: Called at intervals of about 20 ms or less, on the calling thread. Returns `true` to kill the
    ///     program.
    /// - Throws: The error of posix_spawn(3), such as `noSuchFile`, or of pipe(2) or epoll_create(2).
    package init(
        _ arguments: [String], environment: [String], input: [UInt8] = [], keeping kept: Int = keptOutput,
        limit: Int? = maxOutput, timeout: Duration, isCancelled: () -> Bool = { false }
    ) throws(Errno) {
        let deadline = MonotonicClock.now.advanced(by: timeout)
        UnreapedCommands.reap()
        let running = try RunningCommand(arguments, environment: environment, keeping: kept)
        defer { running.finish(within: Self.reapTime) }
        let limit = limit ?? .max
        var written = 0
        var events: [PollEvent] = []
        while true {
            try running.poller.wait(into: &events, timeout: Self.tick)
            running.write(input, &written)
            running.read(atMost: min(Self.maxRead, limit - running.outputCount))
            if let result = running.ended {
                // The pipe may still contain output.
                running.read(atMost: min(Self.maxRead, limit - running.outputCount))
                end = result
                break
            }
            if running.outputCount >= limit {
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
        output = running.output.suffix(kept)
        isCut = running.outputCount > kept
    }
}

/// The process ids of killed programs that did not end in time. Before each run, those that have ended are reaped.
enum UnreapedCommands {
    private static let pids = Mutex<[Int32]>([])

    static var count: Int { pids.withLock { $0.count } }

    static func add(_ pid: Int32) {
        pids.withLock { $0.append(pid) }
    }

    /// Reaps the programs that have ended.
    static func reap() {
        pids.withLock { pids in pids.removeAll { clinux_reap($0) != 0 } }
    }
}

/// A program that was started, and the pipes to its standard streams.
private final class RunningCommand {
    let poller: Poller
    private let pid: Int32
    /// The write end of the pipe to the program's standard input; nil once it is closed.
    private var input: SharedDescriptor?
    /// The read end of the pipe from its standard output and error; nil once it is closed.
    private var outputEnd: SharedDescriptor?
    /// The number of bytes of output to keep.
    private let kept: Int
    /// The end of the output, at least the last `kept` bytes.
    private(set) var output: [UInt8] = []
    /// The number of bytes of output that have been read.
    private(set) var outputCount = 0

    init(_ arguments: [String], environment: [String], keeping kept: Int) throws(Errno) {
        self.kept = kept
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
        let (input, output) = (SharedDescriptor(toChild.second), SharedDescriptor(fromChild.first))
        (self.input, outputEnd) = (input, output)
        try? input.descriptor.setNonBlocking()
        try? output.descriptor.setNonBlocking()
        try? poller.add(input.descriptor, token: 0, for: .write)
        try? poller.add(output.descriptor, token: 1, for: .read)
    }

    /// Writes as much of the input as the pipe accepts, and closes the pipe after the last byte.
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
                // The program does not read the rest of the input.
                input = nil
            }
        }
    }

    /// Reads available output, and keeps its last bytes. Stops once `limit` bytes or slightly more have been read.
    func read(atMost limit: Int) {
        var left = limit
        while let end = outputEnd, left > 0 {
            do throws(Errno) {
                let count = try end.descriptor.read(appendingTo: &output, atMost: 16_384)
                if count == 0 { outputEnd = nil }
                outputCount += count
                left -= count
                // Not done after each read, because this moves all kept bytes.
                if output.count > 2 * kept { output.removeFirst(output.count - kept) }
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

    /// Kills the process group and reaps the program. If the program does not end in time, it is reaped before a later
    /// run.
    func finish(within time: Duration) {
        // The program has not been reaped yet, so its id cannot belong to another process group.
        _ = kill(-pid, SIGKILL)
        let deadline = MonotonicClock.now.advanced(by: time)
        while clinux_reap(pid) == 0 {
            guard MonotonicClock.now < deadline else { return UnreapedCommands.add(pid) }
            _ = usleep(2000)
        }
    }
}
