import CProcesses
import Foundation
import UnixIO

/// Starts programs with only the given descriptors, and waits for them to end.
///
/// Foundation's `Process` detects the end of a program by a descriptor. If another child has inherited the descriptor,
/// `Process` does not notice the end. It also leaves signals blocked.
enum Spawning {
    /// Starts a program in a process group of its own, and returns its process id.
    ///
    /// - Parameter streams: The program's standard input, output and error.
    static func start(
        _ program: String, _ arguments: [String], environment: [String: String], streams: [CInt]
    ) throws -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (number, stream) in streams.enumerated() {
            unsafe posix_spawn_file_actions_adddup2(&actions, stream, CInt(number))
        }
        // Foundation's file handles do not close on exec, and would keep a removed file on its disk.
        unsafe processes_close_from(&actions, CInt(streams.count))

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))

        let variables = environment.map { "\($0.key)=\($0.value)" }
        var argumentList = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        var settings = unsafe variables.map { unsafe strdup($0) } + [nil]
        defer { unsafe (argumentList + settings).forEach { unsafe free($0) } }
        var pid: pid_t = 0
        let code = unsafe posix_spawn(&pid, program, &actions, &attributes, &argumentList, &settings)
        guard code == 0 else { throw Errno(rawValue: code) }
        return pid
    }

    static func wait(for pid: Int32) -> ChildProcess.End {
        var status: Int32 = 0
        while unsafe waitpid(pid, &status, 0) < 0 {
            guard Errno.current == .interrupted else { return .exit(-1) }
        }
        let signal = status & 0x7F
        return signal == 0 ? .exit((status >> 8) & 0xFF) : .signal(signal)
    }
}
