import CCurl

extension HTTPExchange {
    /// Lets libcurl tell this exchange what happens. The exchange must outlive
    /// the transfer.
    func observe(_ easy: UnsafeMutableRawPointer) -> [CURLcode] {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        return unsafe [
            ccurl_set_on_header(
                easy,
                { bytes, _, count, context in
                    let line = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
                    return unsafe HTTPExchange.from(context)?.receive(headerLine: line) == true ? count : 0
                }, context),
            ccurl_set_on_body(
                easy,
                { bytes, _, count, context in
                    let part = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
                    return unsafe HTTPExchange.from(context)?.receive(bodyPart: part) == true ? count : 0
                }, context),
            ccurl_set_on_socket(
                easy,
                { context, _, _ in
                    unsafe HTTPExchange.from(context)?.connectionOpens()
                    return CInt(CURL_SOCKOPT_OK)
                }, context),
            ccurl_set_on_request(
                easy,
                { context, _, _, _, _ in
                    unsafe HTTPExchange.from(context)?.requestBegins()
                    return CInt(CURL_PREREQFUNC_OK)
                }, context),
        ]
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> HTTPExchange? {
        unsafe context.map { unsafe Unmanaged<HTTPExchange>.fromOpaque($0).takeUnretainedValue() }
    }
}
