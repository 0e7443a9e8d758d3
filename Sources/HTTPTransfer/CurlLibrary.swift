import CCurl

/// libcurl's own start, which takes milliseconds and so waits until it is
/// needed, and happens once.
enum CurlLibrary {
    static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
