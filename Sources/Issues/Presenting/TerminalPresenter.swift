internal import IssueWire
internal import UnixIO

/// Asks on the terminal, by numbers.
///
/// Where there is no terminal, or but one option, nobody is asked.
public struct TerminalPresenter: Presenter {
    init() {}

    /// Shows title, message and options on standard error, and reads a number.
    public func choose(_ prompt: Prompt) -> HealingOption {
        // One that reads from the background would be stopped by the kernel.
        guard StandardStream.input.isForegroundTerminal, StandardStream.error.isTerminal else {
            return prompt.ordinaryOption
        }
        say(HarmlessText.line(prompt.title) + "\n")
        for line in HarmlessText.lines(prompt.message) { say(line + "\n") }
        guard prompt.options.count > 1 else { return prompt.options[0] }
        for (index, option) in prompt.options.enumerated() {
            say("  \(index + 1)) \(HarmlessText.line(option.title))\n")
        }
        let preferred = prompt.options.firstIndex { $0.style == .recommended } ?? 0
        while true {
            say("\(HarmlessText.line(PresenterTexts.current.choose)) [\(preferred + 1)]: ")
            guard let line = readLine(strippingNewline: true) else { return prompt.ordinaryOption }
            let answer = line.split(whereSeparator: \.isWhitespace).joined()
            if answer.isEmpty { return prompt.options[preferred] }
            if let number = Int(answer), prompt.options.indices.contains(number - 1) {
                return prompt.options[number - 1]
            }
        }
    }

    private func say(_ text: String) {
        // Nobody is left to be told when the terminal is gone.
        try? StandardStream.error.writeAll(text)
    }
}

extension Presenter where Self == TerminalPresenter {
    /// The terminal that the process was started on.
    public static var terminal: Self { Self() }
}
