package import HTTPShipping
package import HTTPTransfer
package import IssueCore

extension ClickHouseFormat {
    /// An exception has a number, in a header or, before version 19, only in the text (`Code: 27, …`); the status does
    /// not tell much, as old versions answer each with 500. Source: `ErrorCodes.cpp` of ClickHouse. An insert is one
    /// block, so of a refused one nothing is taken.
    package static func reading(
        of response: HTTPResponse, to lines: SentLines, by reader: AnswerReader
    ) -> AnswerReading? {
        guard let exception = exception(of: response), let verdict = verdict(of: exception) else {
            guard (200..<300).contains(response.status), !isOfClickHouse(response) else { return nil }
            // Any web server answers so; the table has its own say about what comes twice.
            return AnswerReading(
                .paused(.notFound), reader.text(of: response, saying: "not an answer of ClickHouse, which names itself")
            )
        }
        return AnswerReading(verdict, reader.text(of: response))
    }

    /// Of 18.16 it is the server's name, of later versions the query's number and sums as well.
    private static func isOfClickHouse(_ response: HTTPResponse) -> Bool {
        response.headers.fields.contains { $0.name.lowercased().hasPrefix("x-clickhouse-") }
    }

    private static func verdict(of exception: Int) -> DeliveryVerdict? {
        switch exception {
        // A row that can't be parsed, a value that does not fit its column, an unknown field.
        case 6, 26, 27, 33, 38, 41, 53, 69, 70, 72, 117, 131, 321, 349: .partial(PartialAnswer(successful: 0))
        // Authentication: unknown user, wrong password, required password.
        case 192, 193, 194, 516: .paused(.unauthorised)
        case 291, 497: .paused(.forbidden)
        // Unknown table, unknown database, a column that the table lacks.
        case 10, 16, 60, 81: .paused(.notFound)
        // Read only.
        case 164, 242: .paused(.methodNotAllowed)
        // Too many queries at once, too many parts: it asks for less.
        case 202, 252: .again(.tooManyRequests, retryAfter: nil)
        // Out of memory, out of disk, out of time.
        case 159, 160, 241, 243: .again(.overloaded, retryAfter: nil)
        default: nil
        }
    }

    private static func exception(of response: HTTPResponse) -> Int? {
        if let text = response.headers["X-ClickHouse-Exception-Code"] { return Int(text) }
        let beginning = Array("Code: ".utf8)
        guard response.status >= 400, response.body.starts(with: beginning) else { return nil }
        let digits = response.body.dropFirst(beginning.count).prefix { (0x30...0x39).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self))
    }
}
