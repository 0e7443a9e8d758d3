import Foundation
import Synchronization

/// A temporary folder, removed with its contents when this object is released.
package final class ScratchFolder: Sendable {
    package let path: String
    private let isKept = Atomic(false)

    /// Creates the folder. Other users may traverse it, as clients of other users must.
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

    /// Keeps the folder for inspection, even when this object is released.
    package func keep() {
        isKept.store(true, ordering: .relaxed)
    }

    /// The path of an entry in the folder.
    package subscript(name: String) -> String { "\(path)/\(name)" }

    @discardableResult
    package func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
        let file = self[name]
        // Created with its mode, so that no one can ever open it with another mode.
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
