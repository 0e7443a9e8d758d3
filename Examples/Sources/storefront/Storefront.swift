import Glibc
import Issues

/// A small shop on a bad day: it reports what goes wrong, and shows what became of each report.
@main
struct Storefront {
    static func main() async {
        IssueReporters.application = ApplicationInfo(
            name: "storefront", version: "2.1.0", build: 2100, environment: .production, network: .ethernet,
            development: false)
        // An ordinary application leaves the reporters as they are, or says
        // [.default]. This one keeps the receipts, to show them.
        let book = ReceiptBook()
        IssueReporters.current = [book]

        Shop().openForOneDay()

        // A receipt waits as long as the daemon is away. This program doesn't.
        guard flushIssues(timeout: .seconds(10)) else {
            fail("the issue daemon did not answer; is it running, and is ISSUED_SOCKET its socket?")
        }
        do {
            print(try await ReceiptTable(book.entries).text)
        } catch {
            fail("\(error)")
        }
    }

    private static func fail(_ reason: String) -> Never {
        let line = Array("storefront: \(reason)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        exit(1)
    }
}
