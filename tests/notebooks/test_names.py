"""Names that the chapters define."""

import ast

import attnbook
from manuscript.chapters import chapters
from tests.support.chapters import Chapter

BUILT = {"softmax"}  # by chapter 1, before it imports the library


def test_no_chapter_hides_what_a_reader_may_import_from_attnbook() -> None:
    hidden = {}
    for file in (chapter.path.name for chapter in chapters()):
        chapter = Chapter(file)
        tree = ast.parse("\n".join(chapter.source(name) for name in chapter.code))
        defined = {
            node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        hidden[file] = defined & {*attnbook.__all__} - BUILT
    assert len(hidden) == 15
    assert {file: names for file, names in hidden.items() if names} == {}
