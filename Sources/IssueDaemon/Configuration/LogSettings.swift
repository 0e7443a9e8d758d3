/// What the daemon says about itself, and where (`[Log]`).
package struct LogSettings: Hashable, Sendable {
    package var level = LogLevel.notice
    package var target = LogTarget.auto

    package init() {}
}
