import Glibc
import Issues

/// A small shop that reports its issues, and prints the receipt of each report.
@main
struct Storefront {
    static func main() async {
        IssueReporters.application = IssueApplication(
            name: "storefront", version: "2.1.0", build: 2100, environment: .production, network: .ethernet,
            development: false)
        // An ordinary application doesn't set the reporters. This one needs the receipts, to print them.
        let book = ReceiptBook()
        IssueReporters.current = [book]

        Shop().openForOneDay()

        // Receipts wait until the daemon is available. This program waits ten seconds.
        guard flushIssues(timeout: .seconds(10)) else {
            fail("no reply from the issue daemon; check that it runs and that ISSUED_SOCKET is its socket")
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
