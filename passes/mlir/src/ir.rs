//! Reading and building MLIR: what melior lacks, and what is said often.

use melior::ir::{
    Attribute, Block, BlockLike, BlockRef, Identifier, Location, Operation, OperationRef, RegionLike, Type, TypeLike,
    Value, ValueLike,
    attribute::{AttributeLike, DenseI64ArrayAttribute, IntegerAttribute},
    operation::{OperationBuilder, OperationLike, OperationPrintingFlags},
};
use mlir_sys::*;

/// An op, in an order in which parents come before what they hold.
pub type Op<'c, 'a> = OperationRef<'c, 'a>;

/// The op and all ops in it, as far as `inside` says to look into one.
pub fn walk<'c, 'a>(root: Op<'c, 'a>, inside: &mut impl FnMut(Op<'c, 'a>) -> bool) {
    if !inside(root) {
        return;
    }
    for region in root.regions() {
        let mut block = region.first_block();
        while let Some(current) = block {
            let mut op = current.first_operation();
            while let Some(found) = op {
                op = found.next_in_block();
                walk(found, inside);
            }
            block = current.next_in_region();
        }
    }
}

/// Every op in `root`, and itself.
pub fn all<'c, 'a>(root: Op<'c, 'a>) -> Vec<Op<'c, 'a>> {
    let mut found = Vec::new();
    walk(root, &mut |op| {
        found.push(op);
        true
    });
    found
}

/// The name of an op, as `llvm.fence`.
pub fn name<'c>(op: Op<'c, '_>) -> &'c str {
    // SAFETY: the name lives as long as the context.
    let bytes = unsafe {
        let name = mlirIdentifierStr(mlirOperationGetName(op.to_raw()));
        std::slice::from_raw_parts(name.data.cast::<u8>(), name.length)
    };
    // No op of ours has a name that is not UTF-8.
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// The dialect of an op, as `llvm`.
pub fn dialect<'c>(op: Op<'c, '_>) -> &'c str {
    name(op).split('.').next().unwrap_or_default()
}

/// The name of an op that is a symbol.
pub fn symbol(op: Op<'_, '_>) -> Option<String> {
    op.attribute("sym_name").ok().and_then(string)
}

/// The op and its parents, from the inside out.
pub fn parents<'c, 'a>(op: Op<'c, 'a>) -> impl Iterator<Item = Op<'c, 'a>> {
    std::iter::successors(Some(op), |op| op.parent_operation())
}

/// The ops that stand directly in an op. Passes that run on these at the same time do not change the list.
pub fn children<'c, 'a>(op: Op<'c, 'a>) -> impl Iterator<Item = Op<'c, 'a>> {
    let regions = op.regions().collect::<Vec<_>>().into_iter();
    let blocks = regions.flat_map(|region| std::iter::successors(region.first_block(), |block| block.next_in_region()));
    blocks.flat_map(|block| std::iter::successors(block.first_operation(), |op| op.next_in_block()))
}

/// The first line of an op's text, or its name, if it holds ops that hold others: MLIR numbers all of them, to print one. Only the
/// op is read for it: other threads may be changing what is around.
pub fn line(op: Op<'_, '_>) -> Option<String> {
    if children(op).any(|child| child.regions().next().is_some()) {
        return Some(name(op).to_owned());
    }
    let flags = OperationPrintingFlags::new().use_local_scope();
    // What is in the op is neither printed nor verified once more.
    // SAFETY: the flags are live.
    unsafe {
        mlirOpPrintingFlagsSkipRegions(flags.to_raw());
        mlirOpPrintingFlagsAssumeVerified(flags.to_raw());
    }
    let text = op.to_string_with_flags(flags).ok()?;
    let line = text.lines().next()?.trim();
    Some(line.strip_suffix("...}").unwrap_or(line).to_owned())
}

/// The text of a string attribute.
pub fn string(attribute: Attribute<'_>) -> Option<String> {
    // SAFETY: the attribute is live, and its text is asked of a string, which need not be UTF-8.
    unsafe {
        let raw = attribute.to_raw();
        mlirAttributeIsAString(raw).then(|| text(mlirStringAttrGetValue(raw)))
    }
}

/// The text of a string of MLIR.
///
/// # Safety
/// The string is live.
pub unsafe fn text(string: MlirStringRef) -> String {
    if string.length == 0 {
        return String::new();
    }
    let bytes = unsafe { std::slice::from_raw_parts(string.data.cast::<u8>(), string.length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// The value of an integer attribute, of an enumeration too.
pub fn integer(attribute: Attribute<'_>) -> Option<i64> {
    IntegerAttribute::try_from(attribute).ok().map(|number| number.value())
}

/// The result of an op that may have none. melior's own accessor prints the op, and MLIR verifies its function for that,
/// to say that there is none.
pub fn result<'c: 'a, 'a>(op: Op<'c, 'a>) -> Option<Value<'c, 'a>> {
    op.results().next().map(Value::from)
}

/// An attribute that belongs to the op's definition.
pub fn inherent<'c>(op: Op<'c, '_>, name: &str) -> Option<Attribute<'c>> {
    op.inherent_attribute(name).ok()
}

/// Sets an attribute that the op's definition does not know.
pub fn set<'c>(op: Op<'c, '_>, name: &str, attribute: Attribute<'c>) {
    // SAFETY: op and attribute are live, and the name is given with its length.
    unsafe { mlirOperationSetDiscardableAttributeByName(op.to_raw(), string_ref(name), attribute.to_raw()) };
}

/// Sets an attribute that belongs to the op's definition.
pub fn set_inherent<'c>(op: Op<'c, '_>, name: &str, attribute: Attribute<'c>) {
    // SAFETY: op and attribute are live, and the name is given with its length.
    unsafe { mlirOperationSetInherentAttributeByName(op.to_raw(), string_ref(name), attribute.to_raw()) };
}

/// Removes an attribute, if the op has it.
pub fn remove(op: Op<'_, '_>, name: &str) {
    // SAFETY: the op is live, and the name is given with its length.
    unsafe { mlirOperationRemoveAttributeByName(op.to_raw(), string_ref(name)) };
}

/// The address space of an LLVM pointer.
pub fn address_space(ty: Type<'_>) -> Option<u32> {
    // SAFETY: the type is live, and the space is asked of a pointer.
    unsafe { mlirTypeIsALLVMPointerType(ty.to_raw()).then(|| mlirLLVMPointerTypeGetAddressSpace(ty.to_raw())) }
}

/// The innermost place in a file that a location names.
pub fn file_location(location: Location<'_>) -> Option<ptx_atomics_common::Location> {
    if location.is_file_line_col_range() {
        return Some(ptx_atomics_common::Location {
            file: location.file_line_col_range_filename().as_string_ref().as_str().ok()?.to_owned(),
            line: location.file_line_col_range_start_line() as u32,
            column: location.file_line_col_range_start_column() as u32,
        });
    }
    if location.is_name() {
        return file_location(location.name_child_location());
    }
    if location.is_call_site() {
        return file_location(location.call_site_callee()).or_else(|| file_location(location.call_site_caller()));
    }
    if location.is_fused() {
        return (0..location.fused_num_locations()).find_map(|index| file_location(location.fused_location(index)));
    }
    None
}

/// Where ops are built.
#[derive(Clone, Copy)]
pub struct Builder<'c, 'a> {
    context: MlirContext,
    pub location: Location<'c>,
    block: BlockRef<'c, 'a>,
    /// The op in front of which they go; at the end of the block without one.
    before: Option<Op<'c, 'a>>,
}

impl<'c, 'a> Builder<'c, 'a> {
    /// In front of an op, at its location.
    pub fn before(op: Op<'c, 'a>) -> Self {
        let block = op.block().expect("what is replaced stands in a block");
        Self {
            context: unsafe { mlirOperationGetContext(op.to_raw()) },
            location: op.location(),
            block,
            before: Some(op),
        }
    }

    /// There, for ops that come from another place of the source.
    pub fn at(self, location: Location<'c>) -> Self {
        Self { location, ..self }
    }

    /// At the end of a block, at the same location.
    pub fn in_block(self, block: BlockRef<'c, 'a>) -> Self {
        Self { block, before: None, ..self }
    }

    /// Puts an op there.
    pub fn insert(self, op: Operation<'c>) -> Op<'c, 'a> {
        match self.before {
            Some(before) => self.block.insert_operation_before(before, op),
            None => self.block.append_operation(op),
        }
    }

    /// An op that is complete but for what the caller adds.
    pub fn start(
        self,
        name: &str,
        operands: &[Value<'c, '_>],
        attributes: &[(&str, Attribute<'c>)],
    ) -> OperationBuilder<'c> {
        // SAFETY: the context is live, and so are the names.
        let named = |name: &str| unsafe { Identifier::from_raw(mlirIdentifierGet(self.context, string_ref(name))) };
        let attributes: Vec<_> = attributes.iter().map(|(name, value)| (named(name), *value)).collect();
        OperationBuilder::new(name, self.location).add_operands(operands).add_attributes(&attributes)
    }

    /// An op without regions.
    pub fn op(
        self,
        name: &str,
        operands: &[Value<'c, '_>],
        attributes: &[(&str, Attribute<'c>)],
        results: &[Type<'c>],
    ) -> Op<'c, 'a> {
        let op = self.start(name, operands, attributes).add_results(results).build();
        self.insert(op.expect("the dialects of what is built are loaded"))
    }

    /// The result of an op that has one.
    pub fn value(
        self,
        name: &str,
        operands: &[Value<'c, '_>],
        attributes: &[(&str, Attribute<'c>)],
        result: Type<'c>,
    ) -> Value<'c, 'a> {
        self.op(name, operands, attributes, &[result]).result(0).expect("one result was asked for").into()
    }

    /// Moves the ops of a region of one block there, with `argument` for the block's argument, but for the terminator; the
    /// value that this yields. The op is to be erased.
    pub fn inline(self, op: Op<'c, 'a>, argument: Value<'c, '_>) -> Value<'c, 'a> {
        let block = op.region(0).ok().and_then(|region| region.first_block()).expect("the op was verified");
        let parameter = block.argument(0).expect("the op was verified");
        // SAFETY: both values are live, of the same type.
        unsafe { mlirValueReplaceAllUsesOfWith(parameter.to_raw(), argument.to_raw()) };
        let terminator = block.terminator().expect("the op was verified");
        while let Some(first) = block.first_operation().filter(|first| *first != terminator) {
            // SAFETY: the op is in the block, and is put into another one at once.
            self.insert(unsafe {
                mlirOperationRemoveFromParent(first.to_raw());
                Operation::from_raw(first.to_raw())
            });
        }
        terminator.operand(0).expect("the op was verified")
    }

    // SAFETY of all calls below: the context is live, and what is made belongs to it.

    pub fn i64(self, value: i64) -> Attribute<'c> {
        unsafe { Attribute::from_raw(mlirIntegerAttrGet(mlirIntegerTypeGet(self.context, 64), value)) }
    }

    pub fn string(self, text: &str) -> Attribute<'c> {
        unsafe { Attribute::from_raw(mlirStringAttrGet(self.context, string_ref(text))) }
    }

    pub fn unit(self) -> Attribute<'c> {
        unsafe { Attribute::from_raw(mlirUnitAttrGet(self.context)) }
    }

    /// The type of integer of so many bits.
    pub fn int(self, bits: u32) -> Type<'c> {
        unsafe { Type::from_raw(mlirIntegerTypeGet(self.context, bits)) }
    }

    /// The LLVM pointer type of an address space.
    pub fn pointer(self, address_space: u32) -> Type<'c> {
        unsafe { Type::from_raw(mlirLLVMPointerTypeGet(self.context, address_space)) }
    }

    /// The type of this text.
    pub fn ty(self, text: &str) -> Type<'c> {
        unsafe { Type::from_raw(mlirTypeParseGet(self.context, string_ref(text))) }
    }

    /// The attribute of this text.
    pub fn attribute(self, text: &str) -> Attribute<'c> {
        unsafe { Attribute::from_raw(mlirAttributeParseGet(self.context, string_ref(text))) }
    }
}

/// A string as MLIR takes it, during a call.
pub fn string_ref(text: &str) -> MlirStringRef {
    MlirStringRef { data: text.as_ptr().cast(), length: text.len() }
}

/// Replaces an op by values, one for each of its results.
pub fn replace<'c>(op: Op<'c, '_>, values: &[Value<'c, '_>]) {
    for (result, value) in op.results().zip(values) {
        // SAFETY: both are live, and of the same type.
        unsafe { mlirValueReplaceAllUsesOfWith(result.to_raw(), value.to_raw()) };
    }
    erase(op);
}

/// Erases an op that nothing uses.
pub fn erase(op: Op<'_, '_>) {
    // SAFETY: the op stands in a block, nothing uses its results, and nobody holds it after this.
    unsafe { mlirOperationDestroy(op.to_raw()) };
}

/// The ops that use a value.
pub fn users<'c, 'a>(value: Value<'c, 'a>) -> Vec<Op<'c, 'a>> {
    let mut found = Vec::new();
    // SAFETY: the value and its uses are live, and nothing changes them here.
    unsafe {
        let mut use_ = mlirValueGetFirstUse(value.to_raw());
        while !mlirOpOperandIsNull(use_) {
            found.push(OperationRef::from_raw(mlirOpOperandGetOwner(use_)));
            use_ = mlirOpOperandGetNextUse(use_);
        }
    }
    found
}

/// The op that a value is a result of.
pub fn defining<'c, 'a>(value: Value<'c, 'a>) -> Option<(Op<'c, 'a>, usize)> {
    if !value.is_operation_result() {
        return None;
    }
    // SAFETY: the value is a result of a live op.
    unsafe {
        let op = OperationRef::from_raw(mlirOpResultGetOwner(value.to_raw()));
        Some((op, mlirOpResultGetResultNumber(value.to_raw()) as usize))
    }
}

/// The block that a value is an argument of, and its number there.
pub fn argument_of<'c, 'a>(value: Value<'c, 'a>) -> Option<(BlockRef<'c, 'a>, usize)> {
    if !value.is_block_argument() {
        return None;
    }
    // SAFETY: the value is an argument of a live block.
    unsafe {
        let block = BlockRef::from_raw(mlirBlockArgumentGetOwner(value.to_raw()));
        Some((block, mlirBlockArgumentGetArgNumber(value.to_raw()) as usize))
    }
}

/// A block with arguments of these types.
pub fn block<'c>(arguments: &[Type<'c>], location: Location<'c>) -> Block<'c> {
    Block::new(&arguments.iter().map(|ty| (*ty, location)).collect::<Vec<_>>())
}

/// Where the value of an `llvm.extractvalue` comes from.
pub enum Extracted<'c, 'a> {
    /// An `insertvalue` put this value there.
    Value(Value<'c, 'a>),
    /// It stands in this aggregate, which no `insertvalue` made.
    In(Value<'c, 'a>),
}

/// Follows an `llvm.extractvalue` through the `insertvalue`s before it. Nothing if these put parts of the value there.
pub fn extracted<'c, 'a>(extract: Op<'c, 'a>) -> Option<Extracted<'c, 'a>> {
    let position = |op| {
        DenseI64ArrayAttribute::try_from(inherent(op, "position")?)
            .ok()
            .map(|position| (0..position.len()).filter_map(|index| position.element(index).ok()).collect::<Vec<_>>())
    };
    let wanted = position(extract)?;
    let mut aggregate = extract.operand(0).ok()?;
    while let Some((op, _)) = defining(aggregate).filter(|(op, _)| name(*op) == "llvm.insertvalue") {
        let found = position(op)?;
        if found == wanted {
            return op.operand(1).ok().map(Extracted::Value);
        }
        if found.starts_with(&wanted) || wanted.starts_with(&found) {
            return None;
        }
        aggregate = op.operand(0).ok()?;
    }
    Some(Extracted::In(aggregate))
}
