//! Makes a section of the text of each page of a PDF. `pdf_extractor` gets the text, `bin/extract` reads the file.

use super::{Document, Encoding, Format, ReadFault, Section};

/// Makes a document of the text of its pages: a section for each page with text.
pub fn document(pages: &[String]) -> Result<Document, ReadFault> {
    let mut text = String::new();
    let mut sections = Vec::new();
    for (number, page) in (1_u32..).zip(pages) {
        if number > 1 {
            text.push('\u{c}');
        }
        let start = text.len();
        text.push_str(page);
        if !page.trim().is_empty() {
            sections.push(Section {
                path: number.to_string(),
                heading: None,
                page: Some(number),
                start,
                end: text.len(),
            });
        }
    }
    if sections.is_empty() {
        return Err(ReadFault::Scanned);
    }
    Ok(Document { format: Format::Pdf, encoding: Encoding::Utf8, text, sections })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_a_section_and_keeps_its_number() {
        let pages = ["one".to_owned(), " \n".to_owned(), "three\n".to_owned()];
        let document = document(&pages).unwrap();
        let pages: Vec<_> = document
            .sections
            .iter()
            .map(|section| (section.page, document.text_of(section)))
            .collect();
        assert_eq!(pages, [(Some(1), "one"), (Some(3), "three\n")]);
    }

    #[test]
    fn pages_without_text_are_pictures() {
        assert_eq!(document(&["\n".to_owned()]), Err(ReadFault::Scanned));
        assert_eq!(document(&[]), Err(ReadFault::Scanned));
    }
}
