import UnixIO

/// Reads the files that a source stands for.
struct ConfigurationReader {
    let surroundings: Surroundings
    let purpose: ConfigurationPurpose
    private var merger = ConfigurationMerger()
    private var unreadable: [ConfigurationProblem] = []
    private var files: [String] = []

    init(surroundings: Surroundings, purpose: ConfigurationPurpose) {
        self.surroundings = surroundings
        self.purpose = purpose
    }

    mutating func read(_ source: ConfigurationSource) -> ConfigurationReading {
        switch source {
        case .usual:
            take(surroundings.systemFile, mayBeMissing: true)
            takeDropIns(of: surroundings.systemFile)
        case .file(let path):
            take(path, mayBeMissing: false)
            takeDropIns(of: path)
        }
        let isOwn = source == .usual && merger.files.isEmpty && surroundings.isOrdinaryUser
        var builder = ConfigurationBuilder(
            isOwn ? surroundings.userConfiguration : .default, surroundings: surroundings, purpose: purpose)
        builder.build(merger.sections, faulty: Set(merger.problems.map(\.scope)))
        return ConfigurationReading(
            configuration: builder.configuration, problems: inOrder(unreadable + merger.problems + builder.problems))
    }

    /// Reads one text instead of the files.
    mutating func read(_ content: [UInt8], from path: String) -> ConfigurationReading {
        files.append(path)
        merger.take(ConfigurationFile(path: path, content: content))
        var builder = ConfigurationBuilder(.default, surroundings: surroundings, purpose: purpose)
        builder.build(merger.sections, faulty: Set(merger.problems.map(\.scope)))
        return ConfigurationReading(
            configuration: builder.configuration, problems: inOrder(merger.problems + builder.problems))
    }

    private mutating func take(_ path: String, mayBeMissing: Bool) {
        do throws(Errno) {
            let content = try FileSystem.read(path, limit: ConfigurationFile.sizeLimit)
            files.append(path)
            merger.take(ConfigurationFile(path: path, content: content))
        } catch {
            if mayBeMissing, error == .noSuchFile || error == .notDirectory { return }
            files.append(path)
            complain(path, "The file cannot be read: \(error).")
        }
    }

    private mutating func takeDropIns(of path: String) {
        let folder = "\(path).d"
        do throws(Errno) {
            let names = try FileSystem.names(in: folder).filter { $0.hasSuffix(".conf") && !$0.hasPrefix(".") }
            // By bytes, whatever the language of the host.
            for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
                take("\(folder)/\(name)", mayBeMissing: false)
            }
        } catch {
            if error == .noSuchFile || error == .notDirectory { return }
            files.append(folder)
            complain(folder, "The folder cannot be read: \(error).")
        }
    }

    private mutating func complain(_ file: String, _ sentence: String) {
        unreadable.append(ConfigurationProblem(at: ConfigurationPlace(file: file), sentence))
    }

    /// File by file as they were read, and from top to bottom in each.
    private func inOrder(_ problems: [ConfigurationProblem]) -> [ConfigurationProblem] {
        let keys = problems.enumerated().map { offset, problem in
            // The offset last, since sorting does not promise to keep the order
            // of equals.
            (files.firstIndex(of: problem.place.file) ?? files.count, problem.place.line ?? 0, offset)
        }
        return keys.sorted(by: <).map { problems[$0.2] }
    }
}
