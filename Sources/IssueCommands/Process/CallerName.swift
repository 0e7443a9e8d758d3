import UnixIO

/// The default application name of a report.
package enum CallerName {
    /// Programs that run any others, so their name says nothing about the origin of an issue.
    private static let runners: Set<String> = [
        "ash", "atd", "bash", "busybox", "cron", "crond", "csh", "dash", "doas", "env", "fish", "flock", "init",
        "ionice", "ksh", "login", "mksh", "nice", "nohup", "runuser", "screen", "setpriv", "sh", "sshd", "stdbuf",
        "su", "sudo", "systemd", "tcsh", "time", "timeout", "tmux", "xargs", "zsh",
    ]

    /// The parent's name, as of a script; else that of the service; else our own.
    package static func name(parent: String?, unit: String?) -> String {
        if let parent, !parent.isEmpty, !runners.contains(String(parent.prefix { $0 != ":" && $0 != " " })) {
            return parent
        }
        let suffix = ".service"
        if let unit, unit.hasSuffix(suffix), unit.count > suffix.count, !unit.hasPrefix("user@") {
            return String(unit.dropLast(suffix.count))
        }
        return "issuectl"
    }

    static func ofThisProcess() -> String {
        let parent = (try? ProcessFacts.read(pid: CurrentProcess.parentPID)) ?? nil
        let own = (try? ProcessFacts.read(pid: CurrentProcess.pid)) ?? nil
        return name(parent: parent?.command, unit: own?.unit)
    }
}
