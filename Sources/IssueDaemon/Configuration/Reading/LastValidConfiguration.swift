package import UnixIO

/// A copy of the last configuration without errors, kept for starts at which the files have some.
///
/// It is the text that `--print-config` prints, so it holds no secrets. It is
/// next to the database, and also in the state directory if that is elsewhere: if
/// `[Store] Path=` can't be read, only the second can be found.
package struct LastValidConfiguration: Sendable {
    package static let fileName = "issued.conf.last-valid"

    private let source: ConfigurationSource
    private let surroundings: Surroundings

    package init(of source: ConfigurationSource, in surroundings: Surroundings) {
        self.source = source
        self.surroundings = surroundings
    }

    /// Reads the newest copy.
    ///
    /// - Parameter database: The path of the database, as far as the files say it.
    /// - Returns: nil if there is no copy for these files, or if it is no longer valid on this host.
    package func read(besides database: String) -> Configuration? {
        let found = files(besides: database).compactMap { path in trusted(path).map { (path: path, file: $0) } }
        let newest = found.max { $0.file.status.modifiedNanoseconds < $1.file.status.modifiedNanoseconds }
        guard let newest else { return nil }
        var reader = ConfigurationReader(surroundings: surroundings, purpose: .running)
        let reading = reader.read(newest.file.content, from: newest.path)
        return reading.problems.contains { $0.scope.isGeneral } ? nil : reading.configuration
    }

    /// Stores a valid configuration. An identical copy is left unchanged.
    ///
    /// - Throws: The first error. All places are tried.
    package func write(_ configuration: Configuration) throws(Errno) {
        let content = Array((header + configuration.text).utf8)
        var failure: Errno?
        for path in files(besides: configuration.store.path) where trusted(path)?.content != content {
            do throws(Errno) {
                try FileSystem.writeAtomically(content, to: path, mode: 0o600)
            } catch {
                // The second place need not exist.
                if error != .noSuchFile { failure = failure ?? error }
            }
        }
        if let failure { throw failure }
    }

    private var header: String {
        let name =
            switch source {
            case .usual: surroundings.systemFile
            case .file(let path): path
            }
        return """
            # The last valid configuration, written by issued. It is used while the files
            # have errors. Do not edit it; edit the files instead.
            # Files: \(name)

            """
    }

    private func files(besides database: String) -> [String] {
        let folder = FileSystem.parentFolder(of: database)
        let folders = [folder] + [surroundings.stateFolder(for: source)].compactMap { $0 }.filter { $0 != folder }
        return folders.map { "\($0)/\(Self.fileName)" }
    }

    /// Returns the content of a copy of these files; nil unless only this user can have written it.
    private func trusted(_ path: String) -> (status: FileStatus, content: [UInt8])? {
        guard let file = try? FileDescriptor.open(path, [.noFollow, .nonBlocking]), let status = try? file.status(),
            status.kind == .regular, status.uid == surroundings.userID, status.mode & 0o022 == 0,
            status.size <= ConfigurationFile.sizeLimit
        else { return nil }
        var content: [UInt8] = []
        while content.count <= ConfigurationFile.sizeLimit {
            guard let count = try? file.read(appendingTo: &content, atMost: 1 << 16) else { return nil }
            if count == 0 { break }
        }
        return content.starts(with: Array(header.utf8)) ? (status, content) : nil
    }
}

extension Surroundings {
    /// The folder where the daemon's state lies unless the configuration says
    /// otherwise; nil for files of which there may be several sets on a host.
    fileprivate func stateFolder(for source: ConfigurationSource) -> String? {
        // systemd separates several directories by colons.
        if let folder = folder("STATE_DIRECTORY")?.split(separator: ":").first { return String(folder) }
        guard source == .usual else { return nil }
        let usual = isOrdinaryUser ? userConfiguration : .default
        return FileSystem.parentFolder(of: usual.store.path)
    }
}
