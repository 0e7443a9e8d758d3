import Foundation

/// The shipped configuration file, its manual page, and other files of the repository.
enum ShippedFile {
    private static var root: URL {
        var url = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { url.deleteLastPathComponent() }
        return url
    }

    static var path: String { root.appendingPathComponent("config/issued.conf").path }

    static func bytes() throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    static func text() throws -> String {
        String(decoding: try bytes(), as: UTF8.self)
    }

    static func manualPage() throws -> String {
        try text(at: "Documentation/man/issued.conf.5").replacingOccurrences(of: "\\-", with: "-")
    }

    /// Returns the text of a file of the repository.
    ///
    /// - Parameter path: The path from the top of the repository.
    static func text(at path: String) throws -> String {
        String(decoding: try Data(contentsOf: root.appendingPathComponent(path)), as: UTF8.self)
    }

    /// Returns the text with all commented-out defaults uncommented.
    static func uncommented(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in line.wholeMatch(of: /#([A-Z][A-Za-z]*=.*)/).map { String($0.1) } ?? String(line) }
            .joined(separator: "\n")
    }
}
