package import IssueCore

/// What stands in a section `[LogzIO]`.
package struct LogzIOSettings: Hashable, Sendable {
    package var region: LogzIORegion?
    package var url: PlainURL?
    /// Nil: as the URL says, and otherwise secure.
    package var connection: LogzIOConnection?
    package var credential = "logzio-token"
    package var type = "issued"
    /// Nil: `<platform>.metadata`.
    package var metadataKey: String?
    package var caFile: String?
    package var proxy: String?
    package var backlog = Backlog.new
    package var limits: LimitSettings
    package var forward: ForwardSettings

    package init(limits: LimitSettings = LimitSettings(), forward: ForwardSettings = ForwardSettings()) {
        self.limits = limits
        self.forward = forward
    }
}
