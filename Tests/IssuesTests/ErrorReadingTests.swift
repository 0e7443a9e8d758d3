import Foundation
import FoundationNetworking
import Issues
import Testing

private enum Plain: Error {
    case one
    case two(Int)
}

private struct Custom: CustomNSError {
    static var errorDomain: String { "com.example.custom" }
    var errorCode: Int { 77 }
}

private struct Cart: Decodable {
    struct Item: Decodable {
        var price: Int
    }

    var items: [Item]
}

private struct Unencodable: Encodable {
    func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(
            self, .init(codingPath: [], debugDescription: "It refuses", underlyingError: Plain.one))
    }
}

@Suite("Reading errors")
struct ErrorReadingTests {
    private func report(_ error: any Error) -> IssueReport { IssueReport(error) }

    @Test("A Swift error is reported with its description and the name of its type, but without a code")
    func plain() {
        let report = report(Plain.two(3))
        #expect(report.message == "Plain.two(3)")
        #expect(report.domain?.hasSuffix("Plain") == true)
        #expect(report.code == nil)
    }

    @Test("In a message, the case of an enum follows the name of its type, unless the error describes itself")
    func enums() {
        enum Described: Error, CustomStringConvertible {
            case one
            var description: String { "described" }
        }
        enum Reportable: ReportableError {
            case one(Int)
        }
        enum Debugged: Error, CustomDebugStringConvertible {
            case one
            var debugDescription: String { "debugged" }
        }
        struct Value: Error {}
        #expect(report(Plain.one).message == "Plain.one")
        #expect(report(Reportable.one(2)).message == "Reportable.one(2)")
        #expect(report(Described.one).message == "described")
        #expect(report(Debugged.one).message == "debugged")
        #expect(report(Value()).message == "Value()")
        // A reporter written for swift-issue-reporting receives the same text as from that library.
        let reporter = OldReporter()
        withIssueReporters([reporter]) { reportIssue(Reportable.one(2), "Paying") }
        #expect(reporter.issues.map(\.message) == ["Caught error: one(2): Paying"])
    }

    @Test("An NSError is reported with its domain, code, description and user info")
    func nsError() {
        let report = report(
            NSError(
                domain: "com.example.till", code: 42,
                userInfo: [NSLocalizedDescriptionKey: "The till is stuck", "coins": 3, "drawers": ["a", "b"]]))
        #expect(report.message == "The till is stuck")
        #expect(report.domain == "com.example.till")
        #expect(report.code == 42)
        #expect(report.metadata["coins"] == 3)
        #expect(report.metadata["drawers"] == ["a", "b"])
        #expect(report.metadata["NSLocalizedDescription"] == nil)
    }

    @Test("The message for an NSError without a description has its domain and code, or the text of its POSIX error")
    func bareNSError() {
        #expect(report(NSError(domain: "com.example", code: 7)).message == "com.example error 7")
        #expect(
            report(NSError(domain: NSPOSIXErrorDomain, code: 13)).message == "Permission denied (EACCES)")
    }

    @Test("Underlying errors become causes, each with its own properties")
    func underlying() {
        let disk = NSError(domain: "disk", code: 5, userInfo: [NSLocalizedDescriptionKey: "The disk is gone"])
        let middle = NSError(domain: "file", code: 6, userInfo: [NSUnderlyingErrorKey: disk])
        let outer = NSError(
            domain: "shop", code: 1,
            userInfo: [
                NSUnderlyingErrorKey: middle,
                "NSMultipleUnderlyingErrorsKey": [Plain.one, Plain.two(2)] as [any Error],
            ])
        let causes = report(outer).causes
        #expect(causes.map(\.message) == ["file error 6", "The disk is gone", "Plain.one", "Plain.two(2)"])
        #expect(causes.first == IssueCause(domain: "file", code: 6, message: "file error 6"))
    }

    @Test("A URLError is reported with a description and the URL")
    func urlError() throws {
        let url = try #require(URL(string: "https://example.com/till"))
        let report = report(URLError(.timedOut, userInfo: [NSURLErrorFailingURLErrorKey: url]))
        #expect(report.domain == NSURLErrorDomain)
        #expect(report.code == -1001)
        #expect(report.message == "The request timed out.")
        #expect(report.metadata["NSErrorFailingURLKey"] == "https://example.com/till")
    }

    @Test("A POSIX error is reported with its number, text and name")
    func posix() {
        let report = report(POSIXError(.ENOENT))
        #expect(report.domain == NSPOSIXErrorDomain)
        #expect(report.code == 2)
        #expect(report.message == "No such file or directory (ENOENT)")
    }

    @Test("An error about a file is reported with the path of the file, and with the POSIX error as a cause")
    func cocoa() throws {
        let error = try #require(throws: (any Error).self) { try Data(contentsOf: URL(filePath: "/no/such/file")) }
        let report = report(error)
        #expect(report.domain == NSCocoaErrorDomain)
        #expect(report.code == 260)
        #expect(report.message.hasSuffix("/no/such/file"))
        #expect(
            report.causes == [
                IssueCause(domain: NSPOSIXErrorDomain, code: 2, message: "No such file or directory (ENOENT)")
            ])
    }

    @Test("A custom domain and a custom code of an error are reported")
    func custom() {
        let report = report(Custom())
        #expect(report.domain == "com.example.custom")
        #expect(report.code == 77)
    }

    @Test(
        "A decoding error is reported with the problem, the coding path and the reason",
        arguments: [
            (#"{"items":[{"price":1},{"price":"x"}]}"#, "Type mismatch, Int expected at items[1].price: ", 2),
            (#"{"items":[{}]}"#, "Key 'price' not found at items[0]: ", 1),
            (#"{"items":[{"price":null}]}"#, "Value of type Int not found at items[0].price: ", 3),
            (#"{"items""#, "Data corrupted: ", 0),
        ])
    func decoding(text: String, message: String, code: Int) throws {
        let error = try #require(throws: DecodingError.self) {
            try JSONDecoder().decode(Cart.self, from: Data(text.utf8))
        }
        let report = report(error)
        #expect(report.message.hasPrefix(message), "\(report.message)")
        #expect(report.code == code)
        #expect(report.domain == "Swift.DecodingError")
    }

    @Test("An encoding error is reported with its reason and its cause")
    func encoding() throws {
        let error = try #require(throws: EncodingError.self) { try JSONEncoder().encode([Unencodable()]) }
        let report = report(error)
        #expect(report.message == "Value of type Unencodable can't be encoded: It refuses")
        #expect(report.causes.map(\.message) == ["Plain.one"])
    }
}
