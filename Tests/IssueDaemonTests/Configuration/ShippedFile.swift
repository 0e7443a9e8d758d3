import Foundation
import IssueTestSupport

/// The shipped configuration file, its manual page, and other files of the repository.
enum ShippedFile {
    static var path: String { TestBinaries.repository + "config/issued.conf" }

    static func bytes() throws -> [UInt8] { Array(try text().utf8) }

    static func text() throws -> String { try text(at: "config/issued.conf") }

    static func manualPage() throws -> String {
        try text(at: "Documentation/man/issued.conf.5").replacingOccurrences(of: "\\-", with: "-")
    }

    /// Returns the text of a file of the repository.
    ///
    /// - Parameter path: The path from the top of the repository.
    static func text(at path: String) throws -> String {
        try String(contentsOfFile: TestBinaries.repository + path, encoding: .utf8)
    }

    /// Returns the text with all commented-out defaults uncommented.
    static func uncommented(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in line.wholeMatch(of: /#([A-Z][A-Za-z]*=.*)/).map { String($0.1) } ?? String(line) }
            .joined(separator: "\n")
    }
}
