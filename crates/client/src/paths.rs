//! The paths of the HTTP contract, with names escaped.

use std::fmt::Write as _;

use crate::submitter::Target;

/// A path, put together part by part.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    text: String,
    has_query: bool,
}

pub(crate) fn apps() -> Path {
    Path::new("/v1/apps")
}

pub(crate) fn app(app: &str) -> Path {
    apps().part(app)
}

pub(crate) fn workspace(target: &Target) -> Path {
    app(&target.app).part("workspaces").part(&target.workspace)
}

pub(crate) fn partitions() -> Path {
    Path::new("/v1/partitions")
}

pub(crate) fn restart(app: &str, partition: u16) -> Path {
    partitions().part(app).part(&partition.to_string()).part("restart")
}

pub(crate) fn accept_clock() -> Path {
    Path::new("/v1/clock/accept")
}

pub(crate) fn version() -> Path {
    Path::new("/version")
}

impl Path {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), has_query: false }
    }

    /// Goes on with a part, whatever is in it.
    pub(crate) fn part(mut self, part: &str) -> Self {
        self.text.push('/');
        escape(part, &mut self.text);
        self
    }

    /// A parameter, if it has a value.
    pub(crate) fn with<T: ToString>(mut self, name: &str, value: Option<T>) -> Self {
        if let Some(value) = value {
            self.text.push(if self.has_query { '&' } else { '?' });
            self.has_query = true;
            self.text.push_str(name);
            self.text.push('=');
            escape(&value.to_string(), &mut self.text);
        }
        self
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// Writes a text with everything escaped that RFC 3986 does not leave alone.
fn escape(text: &str, to: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                to.push(char::from(byte));
            }
            other => write!(to, "%{other:02X}").expect("a string takes everything"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_wherever_they_stand() {
        let target = Target { app: "a b".to_owned(), workspace: "ü/?".to_owned() };
        let path = workspace(&target).part("entities").part("stock/A-7%").with("x", None::<u64>);
        let path = path.with("from", Some(1)).with("kind", Some("a&b=c+d"));
        let expected = "/v1/apps/a%20b/workspaces/%C3%BC%2F%3F/entities/stock%2FA-7%25\
                        ?from=1&kind=a%26b%3Dc%2Bd";
        assert_eq!(path.into_text(), expected);
    }
}
