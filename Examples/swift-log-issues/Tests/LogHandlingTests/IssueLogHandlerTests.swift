import Issues
import LogHandling
import Logging
import Synchronization
import Testing

@Suite("A log handler for reports")
struct IssueLogHandlerTests {
    private struct Alarm: Error {}

    private final class CollectingSink: IssueSink {
        let reports = Mutex<[IssueReport]>([])

        func receive(_ report: IssueReport) {
            reports.withLock { $0.append(report) }
        }
    }

    @Test(
        "Messages of level error and above are reported with their metadata, and with earlier messages as breadcrumbs")
    func reported() throws {
        let sink = CollectingSink()
        let provider = Logger.MetadataProvider { ["tenant": .string("t-1"), "till": .string("none")] }
        var handler = IssueLogHandler(label: "shop", metadataProvider: provider)
        handler[metadataKey: "request"] = .string("r-7")
        func log(
            _ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata? = nil,
            error: (any Error)? = nil
        ) {
            handler.log(
                event: LogEvent(
                    level: level, message: message, error: error, metadata: metadata, source: "Shop",
                    file: "Shop/Till.swift", function: "open()", line: 12))
        }
        withIssueReporters([sink]) {
            withBreadcrumbs {
                log(.info, "The till was opened")
                log(.error, "The till is stuck", ["till": .stringConvertible(2), "drawers": .array([.string("left")])])
                log(.critical, "The shop is on fire", error: Alarm())
            }
        }
        let reports = sink.reports.withLock { $0 }
        #expect(reports.map(\.message) == ["The till is stuck", "The shop is on fire: Alarm()"])
        #expect(reports.map(\.level) == [.error, .critical])
        #expect(reports.last?.error is Alarm)
        let first = try #require(reports.first)
        #expect(first.metadata["request"] == "r-7")
        #expect(first.metadata["tenant"] == "t-1" && reports.last?.metadata["tenant"] == "t-1")
        #expect(first.metadata["till"] == "2")
        #expect(first.metadata["drawers"] == ["left"])
        #expect(first.site.file == "Shop/Till.swift" && first.site.line == 12 && first.site.functionName == "open()")
        #expect(first.breadcrumbs.last?.message == "The till was opened")
    }
}
