import IssueCore
import IssueProtocol
import UnixIO

/// The file with the key of redacted values' hashes, next to the database.
///
/// It is not part of the database, so no one can test guesses of a value with only a backup or a copy of the database.
struct RedactionKeyFile {
    static let name = "redaction.key"

    let path: String

    /// - Parameter database: The path of the database.
    init(besides database: String) {
        path = "\(FileSystem.parentFolder(of: database))/\(Self.name)"
    }

    /// Returns the redactor for the settings. Creates the key if it is needed and missing.
    ///
    /// Without a key, values are masked instead of hashed.
    func redactor(_ settings: RedactionSettings, _ log: Log) -> Redactor {
        guard settings.needsKey else { return Redactor(settings) }
        do throws(Errno) {
            let key = try exists() ? read() : create()
            if let key { return Redactor(settings, key: key) }
            log.error(.redactionKeyUnusable, ["file": path, "error": "the file is not a key"])
        } catch {
            log.error(.redactionKeyUnusable, ["file": path, "error": "\(error)"])
        }
        return Redactor(settings.withoutHashes)
    }

    private func exists() throws(Errno) -> Bool {
        do throws(Errno) {
            _ = try FileSystem.status(of: path, followingLinks: false)
            return true
        } catch {
            if error == .noSuchFile { return false }
            throw error
        }
    }

    private func read() throws(Errno) -> RedactionKey? {
        RedactionKey(try FileSystem.read(path, limit: RedactionKey.size + 1))
    }

    private func create() throws(Errno) -> RedactionKey? {
        let key = RedactionKey(low: Randomness.uint64(), high: Randomness.uint64())
        try FileSystem.writeAtomically(key.bytes, to: path, mode: 0o600)
        return key
    }
}
