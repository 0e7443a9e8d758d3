internal import UnixIO

/// Stops in the debugger at each issue, where there is a debugger.
public struct _BreakpointReporter: IssueSink {
    init() {}

    /// Says the issue on standard error and stops if the process is being traced.
    public func receive(_ report: IssueReport) {
        StandardErrorLine.write(report)
        guard Self.isTraced else { return }
        try? Signal(rawValue: 5).send(to: CurrentProcess.pid)
    }

    private static var isTraced: Bool {
        guard let status = try? FileSystem.read("/proc/self/status", limit: 16 * 1024) else { return false }
        let lines = String(decoding: status, as: UTF8.self).split(separator: "\n")
        guard let tracer = lines.first(where: { $0.hasPrefix("TracerPid:") }) else { return false }
        return !tracer.hasSuffix("\t0")
    }
}

extension IssueReporter where Self == _BreakpointReporter {
    /// A reporter that stops in the debugger; without one it prints a line.
    public static var breakpoint: Self { Self() }
}
