import Foundation

/// The files of the repository that tests compare with the program.
enum ShippedText {
    /// Returns the text of a file.
    ///
    /// - Parameter path: The path in the repository.
    static func of(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}
