import IssueCore
import UnixIO

@testable import IssueDaemon

/// Any file is a configuration, which printed and read again is the same, or all that is wrong with it is said, each
/// with its line.
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
            case .failure(let invalid): fatalError("It was printed as this, which is wrong: \(text)\n\(invalid)")
            case .success(let again):
                require(again == configuration, "It was printed as this, which says something else: \(text)")
                require(again.text == text, "Printed a second time it is another text: \(text)\n\(again.text)")
            }
        }
    }

    /// What the reader does with a single file, which here lies in memory.
    private static func read(_ content: [UInt8]) -> Result<Configuration, InvalidConfiguration> {
        var merger = ConfigurationMerger()
        merger.take(ConfigurationFile(path: path, content: content))
        var builder = ConfigurationBuilder(.default, surroundings: surroundings, purpose: .running)
        builder.build(merger.sections)
        let problems = merger.problems + builder.problems
        return problems.isEmpty ? .success(builder.configuration) : .failure(InvalidConfiguration(problems))
    }

    private static func checkProblems(_ problems: [ConfigurationProblem], of content: [UInt8]) {
        require(!problems.isEmpty, "Something is wrong, and nothing is said")
        let lines = content.count { $0 == UInt8(ascii: "\n") } + 1
        for problem in problems {
            require(problem.place.file == path, "\(problem) is about another file")
            guard let line = problem.place.line else { fatalError("\(problem) has no line") }
            require((1...lines).contains(line), "\(problem) is about one of \(lines) lines")
            require(!problem.message.isEmpty && !problem.message.contains("\n"), "\(problem) is no sentence")
        }
    }

    /// A service whose token lies beside the fuzzers.
    private static let surroundings: HostEnvironment = {
        let place = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        return HostEnvironment(
            userID: 0, variables: ["CREDENTIALS_DIRECTORY": "/\(place)/Credentials"], homeFolder: nil)
    }()
}
