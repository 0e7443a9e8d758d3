import Glibc
import Issues

/// A text file.
struct TextFile {
    /// The error for a file that can't be read, with its `errno`.
    struct Unreadable: ReportableError {
        static let domain = "tally.file"
        var code: Int
        var message: String { "open failed with errno \(code)" }
    }

    var path: String

    /// The word count. Each run of characters between white space counts as one.
    var wordCount: Int {
        get throws {
            guard let file = fopen(path, "r") else { throw Unreadable(code: Int(errno)) }
            defer { fclose(file) }
            var count = 0
            var isInWord = false
            while true {
                let byte = getc(file)
                guard byte != EOF else { return count }
                let isBlank = isspace(byte) != 0
                if !isBlank, !isInWord { count += 1 }
                isInWord = !isBlank
            }
        }
    }
}
