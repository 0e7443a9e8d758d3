#pragma once
#include <zlib.h>

/*
 * deflateInit2 and inflateInit2 are macros, which Swift does not import: they
 * pass the version and the size of z_stream the caller was compiled with.
 * 16 added to the window's bits asks for gzip's header and trailer in place of
 * zlib's own.
 */

static inline int czlib_gzip_deflate_init(z_streamp stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
}

static inline int czlib_gzip_inflate_init(z_streamp stream) {
    return inflateInit2(stream, MAX_WBITS + 16);
}
