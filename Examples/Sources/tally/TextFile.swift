import Glibc
import Issues

/// A text in a file.
struct TextFile {
    /// Why a file could not be read, by the kernel's number.
    struct Unreadable: ReportableError {
        static let domain = "tally.file"
        var code: Int
        var message: String { "The kernel says \(code)" }
    }

    var path: String

    /// How many words there are.
    var words: Int {
        get throws {
            guard let file = fopen(path, "r") else { throw Unreadable(code: Int(errno)) }
            defer { fclose(file) }
            var words = 0
            var isInWord = false
            while true {
                let byte = getc(file)
                guard byte != EOF else { return words }
                let isBlank = isspace(byte) != 0
                if !isBlank, !isInWord { words += 1 }
                isInWord = !isBlank
            }
        }
    }
}
