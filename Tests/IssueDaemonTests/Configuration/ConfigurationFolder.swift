import Foundation
import IssueTestSupport

@testable import IssueDaemon

/// A temporary folder for configuration files, removed when the test ends.
struct ConfigurationFolder: ~Copyable {
    private let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder(named: "cfg")
    }

    var path: String { folder.path }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ text: String, to name: String, mode: Int = 0o644) throws -> String {
        let file = "\(path)/\(name)"
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }

    /// An environment whose paths are in this folder, apart from the folders of unit files.
    func environment(userID: UInt32 = getuid(), _ variables: [String: String] = [:]) -> HostEnvironment {
        var environment = HostEnvironment(userID: userID, variables: variables, homeFolder: "\(path)/home")
        environment.systemFile = "\(path)/issued.conf"
        environment.credentialStore = "\(path)/credstore"
        environment.temporaryFolder = "\(path)/tmp"
        environment.runtimeFolder = "\(path)/run"
        return environment
    }

    /// Writes `text` as the system's file and reads it.
    func load(
        _ text: String, for purpose: ConfigurationPurpose = .running, _ variables: [String: String] = [:]
    ) throws(InvalidConfiguration) -> Configuration {
        _ = try? write(text, to: "issued.conf")
        // As in the service, regardless of the user who runs the tests.
        let variables = variables.merging(["STATE_DIRECTORY": "/var/lib/issued"]) { own, _ in own }
        return try Configuration.load(.default, in: environment(variables), for: purpose)
    }

    /// The errors in `text`, without the folder's path; empty if it is valid.
    func problems(
        of text: String, for purpose: ConfigurationPurpose = .running, _ variables: [String: String] = [:]
    ) -> [String] {
        do throws(InvalidConfiguration) {
            _ = try load(text, for: purpose, variables)
            return []
        } catch {
            return error.problems.map { "\($0)".replacingOccurrences(of: path + "/", with: "") }
        }
    }
}

extension Configuration {
    /// Reads all files of a source.
    ///
    /// - Throws: All errors in these files, if there are any.
    static func load(
        _ source: ConfigurationSource, in environment: HostEnvironment, for purpose: ConfigurationPurpose
    ) throws(InvalidConfiguration) -> Configuration {
        var reader = ConfigurationReader(environment: environment, purpose: purpose)
        let reading = reader.read(source)
        guard reading.problems.isEmpty else { throw InvalidConfiguration(problems: reading.problems) }
        return reading.configuration
    }
}
