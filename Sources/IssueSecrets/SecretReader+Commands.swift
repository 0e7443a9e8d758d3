import IssueWire

/// Passwords after `-p` on the command lines of programs for which this option takes a password. For most other
/// programs, it takes a port, a path or a process.
extension SecretReader {
    /// How a program reads `-p`.
    enum PasswordOption {
        /// `-pPASSWORD`. Without a value, the program asks for the password.
        case attached
        /// `-p PASSWORD`.
        case separate
        /// Both forms.
        case any
    }

    /// The maximum distance from the program to the option, in bytes.
    private static let maxDistance = 256

    private static let programs: [(name: String, option: PasswordOption)] = [
        ("mysql", .attached), ("mysqldump", .attached), ("mysqladmin", .attached), ("mysqlimport", .attached),
        ("mysqlcheck", .attached), ("mysqlshow", .attached), ("mariadb", .attached), ("mariadb-dump", .attached),
        ("mariadb-admin", .attached), ("sshpass", .any), ("login", .separate),
    ]

    /// Returns how the program whose name or path is in a range reads `-p`; nil if it is not one of `programs`.
    func passwordOption(of first: Int, to last: Int) -> PasswordOption? {
        var name = last
        while name > first, bytes[name - 1] != UInt8(ascii: "/") { name -= 1 }
        for program in Self.programs where program.name.utf8.count == last - name && has(program.name, at: name) {
            return program.option
        }
        return nil
    }

    /// Returns the password of an option `-p` at an index of a command line, or the mark in its place; nil if neither
    /// is found, or if the rule is not used.
    mutating func optionPassword(at index: Int) -> RedactionMatch? {
        guard rules.contains(.password), has("-p", at: index), let option = passwordOption(before: index) else {
            return nil
        }
        var first = index + 2
        if first < end, bytes[first] == UInt8(ascii: " ") {
            guard option != .attached else { return nil }
            first += 1
            guard first < end, bytes[first] != UInt8(ascii: "-") else { return nil }
        } else if option == .separate {
            return nil
        }
        if let mark = mark(startingAt: first) { return mark }
        if first < end, Self.isQuote(bytes[first]) { first += 1 }
        let last = valueEnd(from: first)
        guard last > first, !isPlaceholder(from: first, to: last, .option, isQuoted: false) else { return nil }
        return RedactionMatch(rule: .password, start: first, end: last)
    }

    /// An option `-p`, and the program whose command line it is on.
    struct CommandOption {
        /// The index of the option.
        var index: Int
        /// The index of the program and how it reads `-p`; nil if none of `programs` precedes the option in the same
        /// command within `maxDistance`.
        var program: (index: Int, option: PasswordOption)?
    }

    /// Returns how the program before an index reads `-p`; nil if none of `programs` precedes the index in the same
    /// command within `maxDistance`.
    ///
    /// The search ends at the previous option `-p`, whose program is known, so the work is linear.
    private mutating func passwordOption(before index: Int) -> PasswordOption? {
        let program = program(before: index)
        lastOption = CommandOption(index: index, program: program)
        return program?.option
    }

    private func program(before index: Int) -> (index: Int, option: PasswordOption)? {
        let limit = max(start, index - Self.maxDistance)
        var last = index
        while last > limit {
            var first = last
            while first > limit, bytes[first - 1] > UInt8(ascii: " "), !Self.isQuote(bytes[first - 1]) { first -= 1 }
            // A semicolon at the end of a word ends an earlier command.
            guard first == last || bytes[last - 1] != UInt8(ascii: ";") else { return nil }
            if first < last, let option = passwordOption(of: first, to: last) { return (first, option) }
            if let lastOption, lastOption.index == first {
                return lastOption.program.flatMap { $0.index >= limit ? $0 : nil }
            }
            // Another line, or another command.
            guard first > limit, bytes[first - 1] != UInt8(ascii: "\n"), bytes[first - 1] != UInt8(ascii: ";") else {
                return nil
            }
            last = first - 1
        }
        return nil
    }
}

/// Finds options and their values among the elements of an array, which may be a list of arguments.
struct ArgumentList {
    /// The meaning of an element.
    enum Element: Equatable {
        case plain
        /// The whole element is the value of the preceding option. A value with `isVague` is removed only if it looks
        /// like a secret.
        case value(RedactionRule, isVague: Bool)
        /// The element is `-p` and a password.
        case attachedPassword
    }

    private var option: SecretReader.PasswordOption?
    private var expected: (rule: RedactionRule, isVague: Bool)?

    /// Returns the meaning of the next element.
    ///
    /// - Parameter reader: A reader whose whole text is the element.
    mutating func next(_ reader: borrowing SecretReader) -> Element {
        let (bytes, start, end) = (reader.bytes, reader.start, reader.end)
        defer { if let found = reader.passwordOption(of: start, to: end) { option = found } }
        guard end > start, bytes[start] == UInt8(ascii: "-") else {
            defer { expected = nil }
            return expected.map { .value($0.rule, isVague: $0.isVague) } ?? .plain
        }
        expected = nil
        if let option, reader.rules.contains(.password), reader.has("-p", at: start) {
            if end == start + 2 {
                if option != .attached { expected = (.password, false) }
                return .plain
            }
            if option != .separate { return reader.mark(startingAt: start + 2) == nil ? .attachedPassword : .plain }
        }
        var name = start
        while name < end, bytes[name] == UInt8(ascii: "-") { name += 1 }
        for index in name..<end where !ByteClass.inWord(bytes[index]) && bytes[index] != UInt8(ascii: "-") {
            return .plain
        }
        guard end - name >= 3, let found = reader.name(from: name, to: end), let rule = found.rule else {
            return .plain
        }
        expected = (rule, found.isVague)
        return .plain
    }

    /// Skips an element that is not a text. It is not the value of an option.
    mutating func skip() { expected = nil }
}
