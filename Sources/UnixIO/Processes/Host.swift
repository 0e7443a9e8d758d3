import Glibc

/// The machine we run on.
package enum Host {
    /// Its name, as `hostname` prints it.
    package static var name: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&bytes, bytes.count - 1) == 0 else { return "localhost" }
        let end = bytes.firstIndex(of: 0) ?? bytes.endIndex
        return String(decoding: bytes[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A number drawn anew at each start of the host.
    package static var bootID: String? {
        guard let text = try? FileSystem.read("/proc/sys/kernel/random/boot_id", limit: 256) else { return nil }
        return String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
