import Foundation
import IssueTestSupport

/// The files of the repository that tests compare with the program.
enum ShippedText {
    /// Returns the text of a file.
    ///
    /// - Parameter path: The path in the repository.
    static func of(_ path: String) throws -> String {
        try String(contentsOfFile: TestBinaries.repository + path, encoding: .utf8)
    }
}
