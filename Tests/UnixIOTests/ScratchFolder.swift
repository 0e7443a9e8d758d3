import Foundation

/// A temporary folder of a test.
struct ScratchFolder: ~Copyable {
    let path: String

    init() throws {
        // Short, since the length of a socket path is limited.
        let name = "uio-" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String) -> String {
        path + "/" + name
    }
}
