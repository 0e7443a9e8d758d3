import CLinux
import Glibc

/// Runs a program and collects what it prints.
package enum ProgramOutput {
    /// The result of a run.
    package struct Result: Equatable, Sendable {
        /// The text that the program has printed to standard output and standard error.
        package var output: [UInt8]
        /// The exit code; nil if a signal ended the program.
        package var code: Int32?
        /// `true` if the output was longer than the limit. Only the last part is kept.
        package var isCut: Bool
        /// `true` if the program was killed because it took too long.
        package var isTimedOut: Bool
    }

    /// Runs a program without a shell. Its standard input is empty, and it has no other descriptors of this process.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - arguments: The arguments, without the program's own name.
    ///   - environment: Its environment variables, as `NAME=value`.
    ///   - limit: The maximum number of bytes of output that are kept.
    ///   - timeout: The maximum time. The program is then killed.
    /// - Throws: The error of posix_spawn(3), such as `noSuchFile`.
    package static func collect(
        _ program: String, _ arguments: [String], environment: [String] = [], limit: Int, timeout: Duration
    ) throws(Errno) -> Result {
        let deadline = MonotonicClock.now.advanced(by: timeout)
        let pair = try DescriptorPair.pipe()
        let reader = pair.first
        let child = try start(program, arguments, environment, output: pair.second)
        var result = Result(output: [], code: nil, isCut: false, isTimedOut: false)
        do throws(Errno) {
            while try read(reader, into: &result, limit: limit, until: deadline) {}
        } catch {
            try? Signal.kill.send(to: child)
            result.code = wait(for: child)
            throw error
        }
        if result.isTimedOut { try? Signal.kill.send(to: child) }
        if result.output.count > limit { cut(&result, to: limit) }
        result.code = wait(for: child)
        return result
    }

    /// Reads the next bytes. Returns `false` at the end and after the deadline.
    private static func read(
        _ reader: borrowing FileDescriptor, into result: inout Result, limit: Int, until deadline: KernelInstant
    ) throws(Errno) -> Bool {
        let left = MonotonicClock.now.duration(to: deadline)
        guard try Readiness.wait(reader, for: .read, timeout: max(.zero, left)) else {
            result.isTimedOut = true
            return false
        }
        guard try reader.read(appendingTo: &result.output, atMost: 64 << 10) > 0 else { return false }
        if result.output.count > 2 * limit { cut(&result, to: limit) }
        return true
    }

    private static func cut(_ result: inout Result, to limit: Int) {
        result.output.removeFirst(result.output.count - limit)
        result.isCut = true
    }

    /// Starts the program with an empty standard input, and closes the other end of its output.
    private static func start(
        _ program: String, _ arguments: [String], _ environment: [String], output: consuming FileDescriptor
    ) throws(Errno) -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        // All descriptors of this process are closed on exec, except for these copies.
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output.rawValue, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, output.rawValue, 2)
        var words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        var variables = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        var child: pid_t = 0
        let code = unsafe posix_spawn(&child, program, &actions, nil, &words, &variables)
        guard code == 0 else { throw Errno(rawValue: code) }
        return child
    }

    /// Waits for the program to end, and returns its exit code; nil if a signal ended it.
    private static func wait(for child: Int32) -> Int32? {
        var status: CInt = 0
        while unsafe waitpid(child, &status, 0) < 0 {
            guard Errno.current == .interrupted else { return nil }
        }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
    }
}
