/// In which form a command answers.
package enum OutputFormat: Sendable {
    /// Tables and pages for people.
    case human
    /// One JSON document.
    case json
    /// One JSON object a line, as it comes.
    case lines
}
