import Foundation

/// The shipped configuration file and its manual page.
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
        let url = root.appendingPathComponent("Documentation/man/issued.conf.5")
        return String(decoding: try Data(contentsOf: url), as: UTF8.self).replacingOccurrences(of: "\\-", with: "-")
    }

    /// Returns the text with all commented-out defaults uncommented.
    static func uncommented(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in line.wholeMatch(of: /#([A-Z][A-Za-z]*=.*)/).map { String($0.1) } ?? String(line) }
            .joined(separator: "\n")
    }
}
