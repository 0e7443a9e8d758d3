#pragma once
#include <curl/curl.h>
#include <stddef.h>

/*
 * Swift does not import variadic C functions, and the type of the last argument of curl_easy_setopt and
 * curl_easy_getinfo depends on the option. So there is a wrapper for each argument type: a caller cannot pass an int
 * where libcurl reads a long.
 */

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

/* libcurl copies the string. */
static inline CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

/* libcurl does not copy the list: it must outlive the transfer. */
static inline CURLcode ccurl_set_headers(CURL *easy, struct curl_slist *headers) {
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}

/*
 * libcurl does not copy the bytes: they must outlive the transfer. With a null pointer it would read the standard input
 * instead, so an empty body gets a valid address.
 */
static inline CURLcode ccurl_set_body(CURL *easy, const void *bytes, size_t count) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_POST, 1L);
    if (result == CURLE_OK)
        result = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
    if (result == CURLE_OK)
        result = curl_easy_setopt(easy, CURLOPT_POSTFIELDS, count == 0 ? (const void *)"" : bytes);
    return result;
}

/* The callbacks have the exact types that libcurl uses, so that the compiler checks them. */
static inline CURLcode ccurl_set_on_body(CURL *easy, curl_write_callback callback, void *context) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
    return result == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_WRITEDATA, context) : result;
}

static inline CURLcode ccurl_set_on_header(CURL *easy, curl_write_callback callback, void *context) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
    return result == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_HEADERDATA, context) : result;
}

static inline CURLcode ccurl_set_on_socket(CURL *easy, curl_sockopt_callback callback, void *context) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, callback);
    return result == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, context) : result;
}

static inline CURLcode ccurl_set_on_close(CURL *easy, curl_closesocket_callback callback, void *context) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
    return result == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, context) : result;
}

static inline CURLcode ccurl_set_on_request(CURL *easy, curl_prereq_callback callback, void *context) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
    return result == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_PREREQDATA, context) : result;
}

/* CURLOPT_PROTOCOLS_STR exists since 7.85, which deprecated CURLOPT_PROTOCOLS. */
static inline CURLcode ccurl_allow_http_only(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    return curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

/*
 * Without CURLOPT_QUICK_EXIT, a name lookup that is still running delays the end of a transfer until the resolver gives
 * up. The option exists since 7.87. An older library at run time rejects it, which is ignored.
 */
static inline void ccurl_leave_resolver_behind(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075700
    (void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#else
    (void)easy;
#endif
}

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_socket(CURL *easy, curl_socket_t *socket) {
    return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, socket);
}
