import IssueProtocol

/// Goes through the pages of an answer and prints them in the form that was asked for.
struct Paging {
    var context: CommandContext
    /// How many to show, or nothing for all.
    var count: Int64?
    /// The member of the reply that holds what is listed.
    var member: String

    /// One page of the answer.
    struct Page {
        /// Each listed thing as the daemon wrote it.
        var elements: [[UInt8]]
        /// The same as rows for people.
        var rows: [[Cell]]
        var next: String?
    }

    func run(
        _ table: Table, empty: String, more: String,
        fetch: (_ limit: Int, _ after: String?) throws(CommandFailure) -> Page
    ) throws(CommandFailure) {
        var table = table
        var shown: Int64 = 0
        var next: String?
        // Kept for the document, which must be whole or not be there at all.
        var document: [[UInt8]] = []
        repeat {
            let limit = min(PagingOptions.pageSize, count.map { $0 - shown } ?? PagingOptions.pageSize)
            let page = try fetch(Int(limit), next)
            shown += Int64(page.elements.count)
            // A page that brings nothing can't lead anywhere.
            next = page.elements.isEmpty ? nil : page.next
            switch context.format {
            case .human: if !page.rows.isEmpty { try context.print(table.lines(page.rows)) }
            case .lines: for element in page.elements { try context.print(json: element) }
            case .json: document += page.elements
            }
        } while next != nil && count.map { shown < $0 } ?? true

        switch context.format {
        case .human:
            if shown == 0 { try context.print(empty) }
            // Only for people: a pipe is not to count this line as one of the things.
            if next != nil, context.terminal.isTerminal { try context.print(context.painter(more, .faint)) }
        case .lines: break
        case .json: try printDocument(document)
        }
    }

    private func printDocument(_ elements: [[UInt8]]) throws(CommandFailure) {
        var writer = JSONWriter()
        writer.openObject()
        writer.key(member)
        writer.openArray()
        for element in elements { writer.raw(element) }
        writer.closeArray()
        writer.closeObject()
        try context.print(json: writer.bytes)
    }
}
