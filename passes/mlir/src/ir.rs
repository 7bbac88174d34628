//! Reading and building MLIR: functions that melior lacks, and common shorthands.

use melior::ir::{
    Attribute, Block, BlockLike, BlockRef, Identifier, Location, Operation, OperationRef, RegionLike, Type, TypeLike,
    Value, ValueLike,
    attribute::{AttributeLike, DenseI64ArrayAttribute, IntegerAttribute},
    operation::{OperationBuilder, OperationLike, OperationPrintingFlags},
};
use mlir_sys::*;

/// An op. Lists of ops contain each op before its nested ops.
pub type Op<'c, 'a> = OperationRef<'c, 'a>;

/// Calls `inside` for the op and its nested ops. The walk enters an op only if `inside` returns true for it.
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

/// The op `root` and every op in it.
pub fn all<'c, 'a>(root: Op<'c, 'a>) -> Vec<Op<'c, 'a>> {
    let mut found = Vec::new();
    walk(root, &mut |op| {
        found.push(op);
        true
    });
    found
}

/// The name of an op, such as `llvm.fence`.
pub fn name<'c>(op: Op<'c, '_>) -> &'c str {
    // SAFETY: the name lives as long as the context.
    let bytes = unsafe {
        let name = mlirIdentifierStr(mlirOperationGetName(op.to_raw()));
        std::slice::from_raw_parts(name.data.cast::<u8>(), name.length)
    };
    // No op that the pass handles has a name that is not UTF-8.
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// The dialect of an op, such as `llvm`.
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

/// The direct children of an op. Passes that run on the children in parallel do not change the list.
pub fn children<'c, 'a>(op: Op<'c, 'a>) -> impl Iterator<Item = Op<'c, 'a>> {
    let regions = op.regions().collect::<Vec<_>>().into_iter();
    let blocks = regions.flat_map(|region| std::iter::successors(region.first_block(), |block| block.next_in_region()));
    blocks.flat_map(|block| std::iter::successors(block.first_operation(), |op| op.next_in_block()))
}

/// The first line of an op's text. If nested ops contain further ops, it is only the name of the op, because MLIR
/// numbers all of them to print the op. Only the op itself is read, because other threads may be changing the ops
/// around it.
pub fn line(op: Op<'_, '_>) -> Option<String> {
    if children(op).any(|child| child.regions().next().is_some()) {
        return Some(name(op).to_owned());
    }
    let flags = OperationPrintingFlags::new().use_local_scope();
    // The nested ops are neither printed nor verified again.
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
    // SAFETY: the attribute is live, and its text is read only from a string, which need not be UTF-8.
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

/// The value of an attribute that is an integer or an enumeration.
pub fn integer(attribute: Attribute<'_>) -> Option<i64> {
    IntegerAttribute::try_from(attribute).ok().map(|number| number.value())
}

/// The result of an op that may have none. If there is none, melior's own accessor prints the op for an error, and MLIR
/// verifies the function for that.
pub fn result<'c: 'a, 'a>(op: Op<'c, 'a>) -> Option<Value<'c, 'a>> {
    op.results().next().map(Value::from)
}

/// An attribute that belongs to the op's definition.
pub fn inherent<'c>(op: Op<'c, '_>, name: &str) -> Option<Attribute<'c>> {
    op.inherent_attribute(name).ok()
}

/// Sets an attribute that is not part of the op's definition.
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
    // SAFETY: the type is live, and the space is read only from a pointer.
    unsafe { mlirTypeIsALLVMPointerType(ty.to_raw()).then(|| mlirLLVMPointerTypeGetAddressSpace(ty.to_raw())) }
}

/// The innermost file location in a location.
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

/// A position at which ops are built.
#[derive(Clone, Copy)]
pub struct Builder<'c, 'a> {
    context: MlirContext,
    pub location: Location<'c>,
    block: BlockRef<'c, 'a>,
    /// The op before which ops are inserted; `None` for the end of the block.
    before: Option<Op<'c, 'a>>,
}

impl<'c, 'a> Builder<'c, 'a> {
    /// A builder before an op, at its location.
    pub fn before(op: Op<'c, 'a>) -> Self {
        let block = op.block().expect("the replaced op is in a block");
        Self {
            context: unsafe { mlirOperationGetContext(op.to_raw()) },
            location: op.location(),
            block,
            before: Some(op),
        }
    }

    /// The same position, for ops with another location in the source.
    pub fn at(self, location: Location<'c>) -> Self {
        Self { location, ..self }
    }

    /// A builder at the end of a block, with the same location.
    pub fn in_block(self, block: BlockRef<'c, 'a>) -> Self {
        Self { block, before: None, ..self }
    }

    /// Inserts an op at the position.
    pub fn insert(self, op: Operation<'c>) -> Op<'c, 'a> {
        match self.before {
            Some(before) => self.block.insert_operation_before(before, op),
            None => self.block.append_operation(op),
        }
    }

    /// An op builder with a name, operands and attributes, to which the caller adds the rest.
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
        self.insert(op.expect("the dialects of the built op are loaded"))
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

    /// Moves the ops of a region with one block to the position, except the terminator, with `argument` instead of the
    /// block's argument. Returns the value that the terminator yields. The caller must erase the op.
    pub fn inline(self, op: Op<'c, 'a>, argument: Value<'c, '_>) -> Value<'c, 'a> {
        let block = op.region(0).ok().and_then(|region| region.first_block()).expect("the op was verified");
        let parameter = block.argument(0).expect("the op was verified");
        // SAFETY: both values are live, and have the same type.
        unsafe { mlirValueReplaceAllUsesOfWith(parameter.to_raw(), argument.to_raw()) };
        let terminator = block.terminator().expect("the op was verified");
        while let Some(first) = block.first_operation().filter(|first| *first != terminator) {
            // SAFETY: the op is in the block, and is inserted into another block immediately.
            self.insert(unsafe {
                mlirOperationRemoveFromParent(first.to_raw());
                Operation::from_raw(first.to_raw())
            });
        }
        terminator.operand(0).expect("the op was verified")
    }

    // SAFETY of all calls below: the context is live, and new values belong to it.

    pub fn i64(self, value: i64) -> Attribute<'c> {
        unsafe { Attribute::from_raw(mlirIntegerAttrGet(mlirIntegerTypeGet(self.context, 64), value)) }
    }

    pub fn string(self, text: &str) -> Attribute<'c> {
        unsafe { Attribute::from_raw(mlirStringAttrGet(self.context, string_ref(text))) }
    }

    pub fn unit(self) -> Attribute<'c> {
        unsafe { Attribute::from_raw(mlirUnitAttrGet(self.context)) }
    }

    /// The integer type of `bits` bits.
    pub fn int(self, bits: u32) -> Type<'c> {
        unsafe { Type::from_raw(mlirIntegerTypeGet(self.context, bits)) }
    }

    /// The LLVM pointer type of an address space.
    pub fn pointer(self, address_space: u32) -> Type<'c> {
        unsafe { Type::from_raw(mlirLLVMPointerTypeGet(self.context, address_space)) }
    }

    /// Parses a type.
    pub fn ty(self, text: &str) -> Type<'c> {
        unsafe { Type::from_raw(mlirTypeParseGet(self.context, string_ref(text))) }
    }

    /// Parses an attribute.
    pub fn attribute(self, text: &str) -> Attribute<'c> {
        unsafe { Attribute::from_raw(mlirAttributeParseGet(self.context, string_ref(text))) }
    }
}

/// A string in the form of MLIR's C API. It must outlive the call.
pub fn string_ref(text: &str) -> MlirStringRef {
    MlirStringRef { data: text.as_ptr().cast(), length: text.len() }
}

/// Replaces an op by values, one for each of its results.
pub fn replace<'c>(op: Op<'c, '_>, values: &[Value<'c, '_>]) {
    for (result, value) in op.results().zip(values) {
        // SAFETY: both values are live, and have the same type.
        unsafe { mlirValueReplaceAllUsesOfWith(result.to_raw(), value.to_raw()) };
    }
    erase(op);
}

/// Erases an op without uses.
pub fn erase(op: Op<'_, '_>) {
    // SAFETY: the op is in a block, its results have no uses, and the caller keeps no reference to it.
    unsafe { mlirOperationDestroy(op.to_raw()) };
}

/// The ops that use a value.
pub fn users<'c, 'a>(value: Value<'c, 'a>) -> Vec<Op<'c, 'a>> {
    let mut found = Vec::new();
    // SAFETY: the value and its uses are live, and are not changed during the iteration.
    unsafe {
        let mut use_ = mlirValueGetFirstUse(value.to_raw());
        while !mlirOpOperandIsNull(use_) {
            found.push(OperationRef::from_raw(mlirOpOperandGetOwner(use_)));
            use_ = mlirOpOperandGetNextUse(use_);
        }
    }
    found
}

/// The op whose result is the value, and the index of the result.
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

/// The block whose argument is the value, and the index of the argument.
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

/// The origin of the value of an `llvm.extractvalue`.
pub enum Extracted<'c, 'a> {
    /// An `insertvalue` inserted this value.
    Value(Value<'c, 'a>),
    /// The value is part of this aggregate, which is not the result of an `insertvalue`.
    In(Value<'c, 'a>),
}

/// Follows an `llvm.extractvalue` back through the preceding `insertvalue`s. `None` if one of them inserts a part of
/// the value, or an aggregate that contains it.
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
