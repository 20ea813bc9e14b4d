//! HTTP, as far as Prometheus needs it.

/// The answer to a request (RFC 9112 §3): the page, or why not.
pub(super) fn respond(request: &[u8], page: &str) -> Vec<u8> {
    let line = request.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let (status, body) = match words[..] {
        [b"GET", b"/metrics", version] if version.starts_with(b"HTTP/1.") => ("200 OK", page),
        [b"GET", _, version] if version.starts_with(b"HTTP/1.") => {
            ("404 Not Found", "the counters are at /metrics\n")
        }
        [_, _, version] if version.starts_with(b"HTTP/1.") => ("405 Method Not Allowed", "expected GET\n"),
        _ => ("400 Bad Request", "expected HTTP/1.1\n"),
    };
    // Prometheus' text format has this version.
    let kind = "Content-Type: text/plain; version=0.0.4; charset=utf-8";
    let allow = if status.starts_with("405") { "Allow: GET\r\n" } else { "" };
    let len = body.len();
    format!("HTTP/1.1 {status}\r\n{allow}{kind}\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n{body}")
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_get_of_the_page_gets_it() {
        for (line, status) in [
            ("GET /metrics HTTP/1.1", "200 OK"),
            ("GET / HTTP/1.0", "404 Not Found"),
            ("POST /metrics HTTP/1.1", "405 Method Not Allowed"),
            ("GET /metrics", "400 Bad Request"),
            ("\u{1}\u{2}", "400 Bad Request"),
        ] {
            let answer = String::from_utf8(respond(format!("{line}\r\n\r\n").as_bytes(), "x 1\n")).unwrap();
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{line}: {answer}");
            assert_eq!(answer.ends_with("\r\n\r\nx 1\n"), status == "200 OK", "{line}");
        }
    }
}
