import IssueCore
import IssueProtocol

extension SeriesDescription {
    /// Writes what a series says of its records as members of the object that is open, in the words of the wire.
    func write(to writer: inout JSONWriter) {
        writer.member("severity", severity.name)
        writer.member("domain", ifPresent: domain)
        writer.member("code", ifPresent: code)
        writer.member("fingerprint", ifPresent: fingerprint)
        if app != Application() {
            writer.key("app")
            app.write(to: &writer)
        }
        if source != SourceLocation() {
            writer.key("source")
            source.write(to: &writer)
        }
        if !isReportable { writer.member("reportable", false) }
    }
}
