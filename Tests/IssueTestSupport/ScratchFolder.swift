import Foundation
import Synchronization

/// A folder of a test's own, removed with all that is in it when this goes.
package final class ScratchFolder: Sendable {
    package let path: String
    private let isKept = Atomic(false)

    /// Others may pass through it, as clients of another user must.
    package init(named name: String = "issued-test") throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID().uuidString.prefix(8))")
        path = url.path()
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o711])
    }

    deinit {
        guard !isKept.load(ordering: .relaxed) else { return }
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Leaves it where it is, for people to look into.
    package func keep() {
        isKept.store(true, ordering: .relaxed)
    }

    /// The path of something in it.
    package subscript(name: String) -> String { "\(path)/\(name)" }

    @discardableResult
    package func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
        let file = self[name]
        // Made with its mode, so that nobody sees it with another.
        guard
            FileManager.default.createFile(
                atPath: file, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
        else { throw CocoaError(.fileWriteUnknown) }
        return file
    }

    package func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: self[name])
    }

    package func text(of name: String) -> String {
        (FileManager.default.contents(atPath: self[name])).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    package var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }
}
