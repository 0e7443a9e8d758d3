import IssueCore
import UnixIO

@testable import IssueDaemon

/// Any file is either a configuration that is unchanged after printing and reading it again, or all its problems are
/// reported, each with its line.
///
/// Input: the file.
enum ConfigurationHarness {
    private static let path = "/etc/issued/issued.conf"

    static func run(_ input: Span<UInt8>) {
        let content = input.array()
        switch read(content) {
        case .failure(let invalid): checkProblems(invalid.problems, of: content)
        case .success(let configuration):
            let text = configuration.text
            switch read(Array(text.utf8)) {
            case .failure(let invalid): fatalError("The printed configuration is invalid: \(text)\n\(invalid)")
            case .success(let again):
                require(again == configuration, "The printed configuration has another meaning: \(text)")
                require(again.text == text, "The second printed text differs: \(text)\n\(again.text)")
            }
        }
    }

    /// Reads a single file from memory, as the product's reader does.
    private static func read(_ content: [UInt8]) -> Result<Configuration, InvalidConfiguration> {
        var merger = ConfigurationMerger()
        merger.merge(ConfigurationFile(path: path, content: content))
        var builder = ConfigurationBuilder(.default, environment: environment, purpose: .running)
        builder.build(merger.sections)
        let problems = merger.problems + builder.problems
        return problems.isEmpty ? .success(builder.configuration) : .failure(InvalidConfiguration(problems: problems))
    }

    private static func checkProblems(_ problems: [ConfigurationProblem], of content: [UInt8]) {
        require(!problems.isEmpty, "The file was refused without a problem")
        let lines = content.count { $0 == UInt8(ascii: "\n") } + 1
        for problem in problems {
            require(problem.location.file == path, "\(problem) refers to another file")
            guard let line = problem.location.line else { fatalError("\(problem) has no line") }
            require((1...lines).contains(line), "\(problem) refers to a line beyond the last one, \(lines)")
            require(
                !problem.message.isEmpty && !problem.message.contains("\n"),
                "The message of \(problem) is empty or has several lines")
        }
    }

    /// The environment of a service. Its token is in the folder `Credentials` of the fuzzers.
    private static let environment: HostEnvironment = {
        let folder = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        return HostEnvironment(
            userID: 0, variables: ["CREDENTIALS_DIRECTORY": "/\(folder)/Credentials"], homeFolder: nil)
    }()
}
